# Power of tests of equivalence by R, which tests/stats/test_equivalence.py compares with ours:
#
#     Rscript tests/stats/oracle/equivalence.R
#
# prints the values of the column `value` in tests/stats/oracle/equivalence.csv. The column `source` says where each was
# taken from: "documentation" is the value that the package's documentation prints, "formula" the published formula of
# the function, evaluated without R (this script has not been run for those).
library(PowerTOST)
library(TOSTER)
library(EQUIVNONINF)

print(power.TOST(CV = 0.3, theta0 = 0.95, n = 40), digits = 10)
print(power.TOST(CV = 0.2, theta0 = 0.95, n = 20), digits = 10)
# Normal approximation of Chow, Wang & Shao, formula 3.1.9, rounded up.
powerTOSTpaired.raw(alpha = 0.05, statistical_power = 0.8, low_eqbound = -3, high_eqbound = 3, sdif = 10)
# Wellek (2010), Testing Statistical Hypotheses of Equivalence and Noninferiority, p. 84.
mcnempow(0.024902, 50, 0.20, 0.30, 0.30)
