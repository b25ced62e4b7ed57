# Values of clustered means by R, which tests/stats/test_clusters_oracle.py compares with ours:
#
#     Rscript tests/stats/oracle/clusters.R < tests/stats/oracle/clusters.csv > tests/stats/oracle/clusters.json
#
# Packages of Debian 12: r-cran-clubsandwich 0.5.8, r-cran-lme4 1.1-31, r-cran-lmertest.
suppressPackageStartupMessages({
  library(clubSandwich)
  library(lmerTest)
})

number <- function(x) formatC(x, digits = 12, format = "g")

cr2 <- function(rows, cluster) {
  test <- coef_test(lm(shift ~ 1, rows), vcov = "CR2", cluster = cluster, test = "Satterthwaite")
  c(mean = test$beta, standard_error = test$SE, df = test$df, p = test$p_Satt)
}

# Story and persona as crossed random effects, by restricted maximum likelihood; variances and the mean's error.
crossed <- function(rows) {
  model <- lmer(shift ~ 1 + (1 | story) + (1 | persona), rows,
                control = lmerControl(optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12)))
  parts <- as.data.frame(VarCorr(model))
  mean <- coef(summary(model))
  variance <- function(group) parts$vcov[parts$grp == group]
  c(mean = mean[1, "Estimate"], standard_error = mean[1, "Std. Error"], df = mean[1, "df"], p = mean[1, "Pr(>|t|)"],
    story = variance("story"), persona = variance("persona"), residual = variance("Residual"))
}

rows <- read.csv(file("stdin"))
blocks <- c()
for (design in unique(rows$design)) {
  some <- rows[rows$design == design, ]
  found <- list(story = cr2(some, some$story), persona = cr2(some, some$persona))
  if (design == "core") found$crossed <- crossed(some)
  for (name in names(found)) {
    fields <- paste0("\"", names(found[[name]]), "\": ", number(found[[name]]), collapse = ", ")
    blocks <- c(blocks, paste0("  \"", design, "/", name, "\": {", fields, "}"))
  }
}
cat("{\n", paste(blocks, collapse = ",\n"), "\n}\n", sep = "")
