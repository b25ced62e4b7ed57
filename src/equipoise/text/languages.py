"""Rewrite the phrases of an answer in English, so that one set of rules reads every language, and read look-alikes.

Only phrases that give, reject or join options are rewritten; the words of the options stay as they are.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from equipoise.text.patterns import caseless

PUNCTUATION = str.maketrans(
    {"。": ". ", "、": ", ", "।": ". ", "،": ",", "؛": ";", "؟": "?", "「": '"', "」": '"', "『": '"', "』": '"'}
    | dict.fromkeys("【〔", "(")
    | dict.fromkeys("】〕", ")")
    | {chr(start + i): chr(ord("A") + i) for start in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)}
)
"""Punctuation of other scripts, and letters in circles, in squares and of flags."""
LOOKALIKES = str.maketrans(
    "АВСЕНІЈ" + "ΑΒΕΖΗΙ" + "асеіј" + "ᴀʙᴄᴅᴇɢʜɪᴊ" + "ꓮꓐꓚꓓꓰ",
    "ABCEHIJ" + "ABEZHI" + "aceij" + "ABCDEGHIJ" + "ABCDE",
)
"""Cyrillic, Greek, small capital and Lisu letters that look like Latin ones."""
LOOKALIKE = re.compile(
    rf"(?<![^\W\d_])[{''.join(map(chr, LOOKALIKES))}](?![^\W\d_])(?![ \t]+[\u0370-\u052f])"
)  # Before a Cyrillic word it is a word itself: `В данном случае`.
SPACELESS = "\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
SEAM = re.compile(rf"(?<=[{SPACELESS}])(?=[A-Za-z(\[])|(?<=[A-Za-z)\]])(?=[{SPACELESS}])")

AND, OR, BUT, NOT = "and", "or", "but", "not"
WRONG, RIGHT, IS, THE = "is incorrect", "is correct", "is", "the"
ANSWER, CORRECT, FINAL, OPTION = "answer", "correct answer", "final answer", "option"
CHOOSE, MINE, IT_IS, BECAUSE, SO = "I choose", "is the correct answer", "the answer is", "because", "so"
RATHER = "rather than"
LIKELIEST, CHANGED = "most likely diagnosis", "revised"

LETTER_NEXT = (
    r"(?=\s+(?:(?:la|le|el|il|de|het|(?-i:a|o)|option|l'option|opción|opção|opzione|optie)\s+)?\(?(?-i:[A-J])\b)"
)
"""Before the letter of an option: `et non B`."""
NAMED = r"(?-i:([A-J])) ?(?:[).:]? ?\(?[A-Za-z][A-Za-z -]{0,60}\)? ?)?"
"""An option's letter, with its words or without."""

PHRASES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Chinese": (
        (LIKELIEST, "最(?:有)?可能的?(?:诊断)?(?:是|为)"),
        (NOT, "(?:答案|选项)?(?:而|并)?(?:不是|非|不[选選])"),
        (BUT, "(?:而(?:应)?|(?<=[A-J]), ?)是"),
        (CHANGED, ("更正|修正|修改(?:后的)?|更新(?:后的)?|改(?:为|选|成)|重新(?:考虑|思考)(?:后|之后)?"
            "|(?<![A-J])(?<![A-J] )不对,|等等|其实")),
        (
            WRONG,
            ("(?:选项|项)?(?:都|均)?(?:是)?(?:不正确|不对|不符合?|不太可能|不可能|不考虑|错误|错|可排除|可以排除"
            "|被排除|排除)的?"),
        ),
        (IT_IS, ("(?:最终|最后|最佳|正确|标准|我)?的?(?:答案|答|回答|选项|选择|诊断)(?:应该?|就)?(?:是|为|选"
            "|:)\\s*(?:选项)?")),
        (MINE, "(?<=[A-J])\\s*(?:选项|项)?(?:才)?是(?:最佳|最终|正确|最合适)的?(?:答案|选项|选择)"),
        (RIGHT, "(?<=[A-J])\\s*(?:选项|项)?(?:才)?是?[最更]?(?:正确|合适|符合|可能|对)的?"),
        (CORRECT, "(?:最佳|正确)(?:答案|选项)"),
        (IT_IS, "(?:故|应该?|因此|所以|我)?(?:最终)?选择?(?!项)(?:的是)?|应该?是"),
        (OPTION, "选项"),
        (ANSWER, "答案|回答"),
        (BECAUSE, "因为|由于"),
        (SO, "因此|所以|综上"),
        (AND, "和|与|及"),
        (OR, "或者?"),
    ),
    "Traditional Chinese": (
        (CHANGED, "更正|修正|其實|不對|等等|改(?:為|選)"),
        (WRONG, "(?:選項)?(?:是)?(?:不正確|不對|錯誤|可排除|排除)的?"),
        (IT_IS, "(?:最終|最佳|正確)?的?(?:答案|選項|診斷)(?:應該?)?(?:是|為|選|:)"),
        (RIGHT, "(?<=[A-J])\\s*(?:選項)?是?正確的?(?:答案|選項)?"),
        (IT_IS, "(?:故|應|因此|所以|我)?選擇?(?!項)"),
        (OPTION, "選項"),
    ),
    "Japanese": (
        (r"not \1 but", rf"{NAMED}(?:は|が)? ?(?:ではなくて?|じゃなくて?|でなくて?) ?,?"),
        (r"not \1", rf"{NAMED}(?:は|が)? ?(?:ではありません|ではない(?:です)?)"),
        (".", "であり,?|で, "),
        (CHANGED, "訂正|修正|いや|やはり|考え直(?:す|した)と?|変更"),
        (WRONG, ("(?:は|が)?(?:ではなく|ではない|ではありません|じゃなくて)|(?:は|が)(?:誤り|間違い|不正解|不適切"
            "|正しくない|違う|違います)")),
        (IT_IS, "(?:最終的な?|正しい|最も適切な)?(?:正解|答え|答|回答|解答|選択肢|診断)(?:は|:)"),
        (MINE, ("(?:が|は)(?:正解|正しい|最も適切|答え|適切|最も考えられ)|を?(?:選びます|選択します|選ぶ|選択する"
            "|選択)")),
        (OPTION, "選択肢"),
        (".", "です|である|になります|となります|だと思います"),
    ),
    "Korean": (
        (r"not \1 but", rf"{NAMED}번?(?:은|는|이|가)? ?(?:아니라|아니고|아닌) ?,?"),
        (r"not \1", rf"{NAMED}번?(?:은|는|이|가)? ?아닙니다"),
        (".", "(?:이며|이고),?"),
        (CHANGED, "수정|정정|다시 생각해 ?보면|아니,|변경"),
        (WRONG, "(?:은|는|이|가)? ?(?:아니라|아니고|아닙니다|틀렸습니다|틀림|틀립니다|오답)"),
        (IT_IS, "(?:최종 ?|올바른 ?|옳은 ?)?(?:정답|답변|답|진단)(?:은|는|:)"),
        (MINE, "(?:이|가|번이) ?(?:정답|답|맞습니다|옳습니다|가장 적절|가장 가능성)|(?:을|를|번을) ?(?:선택|고르)"),
        (OPTION, "선택지|보기"),
        (".", "번?(?:입니다|이다|이에요|예요)"),
    ),
    "Arabic": (
        (CHANGED, "تصحيح|تعديل|عذرا|في الواقع|بعد إعادة (?:النظر|التفكير)"),
        (WRONG, "(?:هو |هي )?(?:خاطئة?|خطأ|غير صحيحة?|غير محتملة?|مستبعدة?)"),
        (NOT, "(?:و)?ليست?|وليس"),
        (BUT, "بل|ولكن|لكن"),
        (MINE, "(?:هو|هي) (?:الإجابة|الاجابة|الجواب|الخيار)(?: (?:الصحيحة?|الأصح))?"),
        (IT_IS, ("(?:الإجابة|الاجابة|إجابتي|الجواب|الحل|التشخيص)(?: (?:الصحيحة?|النهائية?|الأصح|الأكثر "
            "احتمالا?ً?))*(?: (?:هي|هو))?")),
        (IT_IS, "(?:أختار|اختار|سأختار)(?: الخيار)?"),
        (RIGHT, "(?:هو |هي )?صحيحة?"),
        (OPTION, "(?:الخيار|الاختيار|خيار)(?: (?:الصحيح|الأصح)(?: هو)?)?"),
        (BECAUSE, "لأنه?ا?|بسبب"),
    ),
    "Hindi": (
        (CHANGED, "सुधार|संशोधित|संशोधन|वास्तव में|असल में|दोबारा सोचने पर"),
        (MINE, "(?<=[A-J])\\)? (?:ही )?(?:सही|अंतिम) (?:उत्तर|विकल्प|जवाब)(?: है| हैं)?"),
        (RIGHT, "(?<=[A-J])\\)? (?:ही )?सही है"),
        (WRONG, "(?:गलत|ग़लत)(?: है)?|सही नहीं(?: है)?|नहीं(?: है)?(?:, ?बल्कि)?"),
        (IT_IS, ("(?:मेरा )?(?:सही |अंतिम |सबसे उपयुक्त )*(?:उत्तर|जवाब|निदान)(?: है)?(?: ?:)?(?: विकल्प)?"
            "|(?:सही |अंतिम )+विकल्प(?: है)?(?: ?:)?")),
        (OPTION, "विकल्प"),
        (BECAUSE, "क्योंकि"),
        (".", "(?:होगा|हैं|है)"),
    ),
    "Russian": (
        (CHANGED, "исправл\\w+|поправк\\w+|пересмотр\\w*|на самом деле|подумав ещ[её]|уточн\\w+"),
        (WRONG, "(?:является )?(?:неверн\\w+|неправильн\\w+|ошибочн\\w+|маловероят\\w+|исключ\\w+)"),
        (NOT, "не"),
        (BUT, r"а|но|(?<=, )(?-i:a)(?= \(?[A-J]\b)"),
        (IT_IS, ("(?:правильн\\w+|верн\\w+|окончательн\\w+|мой)? ?(?:ответ|вариант ответа|диагноз)(?: ?[—–:-]| "
            "является)?(?: вариант)?")),
        (IT_IS, "(?:я )?выб(?:ираю|рал|рала|ор)"),
        (MINE, "[—–-] (?:это )?(?:правильн\\w+|верн\\w+) (?:ответ|вариант)"),
        (RIGHT, "(?:верн\\w+|правильн\\w+)"),
        (OPTION, "вариант"),
        (BECAUSE, "потому что|так как|поскольку"),
    ),
    "Spanish": (
        (CHANGED, ("correcci[oó]n|rectifico|en realidad|pens[aá]ndolo (?:bien|mejor)|cambio (?:mi respuesta )?a"
            "|perd[oó]n|(?:no,? )?esper[ae]|corrijo|revisada")),
        (CORRECT, ("(?:respuesta|opci[oó]n|alternativa) (?:m[aá]s )?(?:correcta|adecuada|apropiada|probable)|mejor "
            "respuesta|la correcta(?= es)")),
        (FINAL, "respuesta (?:final|definitiva)"),
        (LIKELIEST, "diagn[oó]stico m[aá]s probable"),
        (ANSWER, "(?:mi )?respuesta|contestaci[oó]n"),
        (OPTION, "(?:la )?opci[oó]n|alternativa|inciso"),
        (CHOOSE, ("(?:yo )?(?:elijo|elegir[ií]a|escojo|selecciono|me quedo con|me inclino por|optar[ií]a por|opto "
            "por)")),
        (NOT, rf"no es(?: la)?|(?:y )?no{LETTER_NEXT}"),
        (RATHER, "en (?:vez|lugar) de"),
        (BUT, "sino(?: que)?(?: es)?(?: la)?"),
        (WRONG, ("(?:se descarta|(?:es|son|queda|fue|ha sido|est[aá]|puede ser) (?:excluid[ao]"
            "|incorrect[ao]s?|fals[ao]s?|descartad[ao]|err[oó]ne[ao]))")),
        ("leaves", "(?:solo |s[oó]lo )?(?:nos )?queda(?: solo| s[oó]lo)?(?=(?: +(?:la|el|option))* +[A-J]\\b)"),
        (RIGHT, "es (?:la |el )?(?:correct[ao]|verdader[ao]|ciert[ao])"),
        (IS, "es|ser[ií]a|ser[aá]"), (THE, "la|el|letra"), (BECAUSE, ("porque|ya que|debido "
            "a")), (SO, "por (?:lo )?tanto"),
    ),
    "Portuguese": (
        (CHANGED, ("corre[cç][aã]o|na verdade|pensando melhor|reconsiderando|mudo para|desculpe"
            "|(?:n[aã]o,? )?esper[ae]|revisada")),
        (CORRECT, ("(?:a )?(?:(?:resposta|op[cç][aã]o|alternativa) (?:mais )?(?:correta|certa|adequada|apropriada"
            "|prov[aá]vel)|melhor resposta)|[oa] (?:correta|certa)(?= [eé])|(?:o )?gabarito")),
        (FINAL, "(?:a )?resposta final"),
        (LIKELIEST, "(?:o )?diagn[oó]stico mais prov[aá]vel"),
        (ANSWER, "(?:a )?(?:minha )?resposta"),
        (OPTION, "(?:a )?(?:op[cç][aã]o|alternativa|letra)"),
        (CHOOSE, ("(?:eu )?(?:escolho|escolheria|seleciono|opto por|fico com|marcaria|marco)(?: (?:a letra|a "
            "op[cç][aã]o|(?-i:a|o)))?")),
        (NOT, rf"n[aã]o [eé](?: (?-i:a))?|(?:e )?n[aã]o{LETTER_NEXT}"),
        (BUT, rf"(?:e |mas )?sim(?: (?-i:a))?|mas{LETTER_NEXT}"),
        (WRONG, ("(?:[eé]|est[aá]|foi|fica|pode ser|deve ser) (?:exclu[ií]d[ao]|incorret[ao]"
            "|fals[ao]|errad[ao]|descartad[ao])")),
        ("leaves", "(?:s[oó] )?(?:resta|sobra)(?: apenas| s[oó])?(?=(?: +(?:a|o|option))* +[A-J]\\b)"),
        (RIGHT, "(?:[eé]|est[aá]) (?:[ao] )?(?:corret[ao]|cert[ao]|verdadeir[ao])"),
        (IS, "(?:é|seria)(?: (?-i:a|o))?"), (BECAUSE, "porque|pois|j[aá] que"), (SO, "portanto"),
    ),
    "French": (
        (CHANGED, ("correction|rectification|en fait|en r[eé]alit[eé]|apr[eè]s r[eé]flexion|je (?:change|corrige)"
            "|finalement|pardon|(?:non,? )?attend(?:ez|s)|r[eé]vis[eé]e")),
        (CORRECT, ("(?:bonne|meilleure) (?:r[eé]ponse|option)|(?:r[eé]ponse|option|choix) (?:correcte?|exacte?|juste"
            "|la plus (?:probable|appropri[eé]e))")),
        (FINAL, "r[eé]ponse (?:finale|d[eé]finitive)"),
        (LIKELIEST, "diagnostic le plus probable"),
        (ANSWER, "(?:ma )?r[eé]ponse"),
        (OPTION, "l'option|(?:la )?proposition"),
        (CHOOSE, "je (?:choisis|choisirais|s[eé]lectionne|retiens|dirais|opte pour|pencherais pour)"),
        (NOT, rf"n'est pas(?: la)?|(?:et )?(?:non|pas){LETTER_NEXT}"),
        (RATHER, "plut[oô]t qu(?:e|')|au lieu d(?:e|')"),
        (BUT, "mais(?: plut[oô]t)?(?: bien)?(?: la)?"),
        (WRONG, ("(?:est|sont|a [eé]t[eé]|peut [eê]tre) (?:[eé]cart[eé]e?|incorrecte?s?|fausse?s?"
            "|faux|exclue?|[eé]limin[eé]e?|erron[eé]e?)")),
        ("leaves", "(?:il )?(?:ne )?reste(?: que| donc)?(?=(?: +(?:la|le|answer|option))* +[A-J]\\b)"),
        (RIGHT, "est (?:la |le )?(?:bonne|correcte?|exacte?|vraie?|juste)"),
        (IT_IS, "c'est(?: donc)?(?: bien)?"),
        (IS, "est|serait"), (THE, "la|le|lettre"), (BECAUSE, "car|parce que|puisque"), (SO, "donc"),
    ),
    "Italian": (
        (CHANGED, ("(?:correzione|in realt[aà]|ripensandoci|cambio (?:la (?:mia )?risposta )?(?:in|con)|mi correggo"
            "|anzi"
            "|scusa|aspett[ai]|rivista)(?:,? no)?")),
        (CORRECT, ("(?:risposta|opzione|alternativa) (?:pi[uù] )?(?:corretta|giusta|esatta|appropriata|probabile)"
            "|migliore risposta")),
        (FINAL, "risposta (?:finale|definitiva)"),
        (LIKELIEST, "diagnosi pi[uù] probabile"),
        (ANSWER, "(?:la mia )?risposta"),
        (OPTION, "l'opzione|opzione"),
        (CHOOSE, "(?:io )?(?:scelgo|sceglierei|seleziono|opto per|direi)"),
        (NOT, rf"non [eè](?: la)?|(?:e )?non{LETTER_NEXT}"),
        (RATHER, "invece d(?:i|ella)|anzich[eé]|piuttosto che"),
        (BUT, "ma(?: bens[iì])?(?: la)?|bens[iì](?: la)?"),
        (WRONG, ("(?:[eè]|sono|[eè] stat[ao]|va|pu[oò] essere) (?:errat[aoe]|sbagliat[aoe]"
            "|fals[aoe]|esclus[aoe]|scorrett[aoe])")),
        ("leaves", "(?:resta|rimane)(?: solo| quindi)?(?=(?: +(?:la|il|option))* +[A-J]\\b)"),
        (RIGHT, "[eè] (?:quella |la )?(?:corrett[ao]|giust[ao]|ver[ao]|esatt[ao])"),
        (IS, "è|sarebbe"), (THE, "la|il|lettera"), (BECAUSE, "perch[eé]|poich[eé]"), (SO, "quindi|dunque|pertanto"),
    ),
    "German": (
        (CHANGED, ("korrektur|korrigiere?|revidiert\\w*|eigentlich|bei n[aä]herer [uü]berlegung|doch eher"
            "|(?:nein,? )?(?:moment|warte)|nach "
            "erneuter \\w+|korrigiert\\w*")),
        (IT_IS, "(?<!nicht )(?:richtig|korrekt|zutreffend) ist(?: nur)?(?! nicht)"),
        (CORRECT, "(?:richtige|korrekte|beste|zutreffende) (?:antwort|l[oö]sung|option|antwortm[oö]glichkeit)"),
        (FINAL, "(?:endg[uü]ltige|finale|letzte|abschlie(?:ß|ss)ende) antwort|endantwort"),
        (LIKELIEST, "wahrscheinlichste diagnose"),
        ("", "als (?:einzige |richtige |wahrscheinlichste )*(?:antwort|l[oö]sung|diagnose|option)(?: [uü]brig)?"),
        (ANSWER, "(?:meine )?antwort|l[oö]sung|antwortoption|antwortm[oö]glichkeit"),
        (CHOOSE, "ich (?:w[aä]hle|w[uü]rde(?: sagen| auf)|nehme|entscheide mich f[uü]r|tippe auf)"),
        (NOT, "(?:ist |und )?nicht"),
        (BUT, "sondern"),
        (RATHER, "(?:an)?statt|anstelle von"),
        (WRONG, ("scheide[tn](?: \\w+)? aus|(?:ist|sind|wurde|kann) (?:falsch|inkorrekt|ausgeschlossen"
            "|unwahrscheinlich|nicht (?:richtig|korrekt))(?: werden)?")),
        ("leaves", "bleib(?:t|en)(?: nur| also| somit| noch)*(?=(?: +(?:die|option|answer))* +[A-J]\\b)"),
        (RIGHT, "(?<=\\b[A-J] )(?:richtig|korrekt|zutreffend)(?= *(?:[.,;!]|$))"),
        (RIGHT, "(?:ist|w[aä]re) (?:die |das )?(?:richtige?|korrekt|zutreffend)"),
        (IS, "ist|w[aä]re|lautet"), (THE, ("die|der|das"
            "|buchstabe")), (BECAUSE, "weil|denn|da"), (SO, "daher|also|somit"),
    ),
    "Dutch": (
        (CHANGED, "correctie|bij nader inzien|eigenlijk|ik corrigeer|herzien\\w*"),
        (FINAL, "(?:definitieve?|uiteindelijke?|eind) ?antwoord"), (LIKELIEST, "meest waarschijnlijke diagnose"),
        (IT_IS, "(?<!niet )(?:juist|correct|goed) is"),
        (RIGHT, "(?<=\\b[A-J] )(?:juist|correct|goed|het juiste antwoord)(?= *(?:[.,;!]|$))"),
        (CORRECT, "(?:juiste|correcte|beste) (?:antwoord|optie)"), (ANSWER, "(?:mijn )?antwoord"), (OPTION, "optie"),
        (CHOOSE, "ik (?:kies|ga|zou)(?: voor)?"), (NOT, rf"is niet|(?:en )?niet{LETTER_NEXT}"),
        (WRONG, "is (?:fout|onjuist|uitgesloten|niet (?:juist|correct|goed))"),
        (RIGHT, "is (?:het |de )?(?:juiste?|goede?|correcte?)"), (SO, "dus|daarom"),
        (BUT, "maar"), (THE, "het|de"), (IS, "is|lijkt"), (BECAUSE, "omdat|want"),
    ),
    "Polish": (
        (CHANGED, "poprawka|korekta|po namy[sś]le"),
        (CORRECT, "(?:prawid[lł]owa|poprawna|w[lł]a[sś]ciwa) odpowied[zź](?: to)?"), (ANSWER, "odpowied[zź](?: to)?"),
        (CHOOSE, "wybieram"), (NOT, "nie"), (WRONG, "jest (?:b[lł][eę]dn\\w+|nieprawid[lł]ow\\w+)"), (OPTION, "opcja"),
        (RIGHT, ("jest (?:poprawn\\w+"
            "|prawid[lł]ow\\w+)")), (BUT, "ale|lecz|tylko"), (IS, "jest"), (BECAUSE, "poniewa[zż]|bo"),
    ),
    "Turkish": (
        (CHANGED, "d[uü]zeltme|asl[ıi]nda"),
        (IT_IS, "(?:do[gğ]ru|nihai|son)? ?(?:cevap|yan[ıi]t)"), (OPTION, "[sş][ıi]kk[ıi]|se[cç]enek"),
        (WRONG, "yanl[ıi][sş](?:t[ıi]r)?|de[gğ]il"), (MINE, "do[gğ]ru(?:dur)?"), ("", "'?d[ıi]r(?!\\w)"),
    ),
    "Indonesian": (
        (CORRECT, ("jawaban (?:yang )?(?:benar|tepat|paling tepat)(?:nya)?(?: "
            "adalah)?")), (ANSWER, "jawaban(?:nya)?(?: saya)?"),
        (IS, "adalah|ialah"), (WRONG, ("(?:adalah "
            ")?salah")), (NOT, "bukan"), (BUT, "melainkan|tetapi"), (OPTION, "pilihan|opsi"),
        (CHOOSE, "saya (?:pilih|memilih)"), (BECAUSE, "karena"),
    ),
    "Vietnamese": (
        (IT_IS, "(?:đáp án|câu trả lời|trả lời)(?: (?:đúng|chính xác|cuối cùng))*(?: là)?"), (WRONG, "(?:là )?sai"),
        (CHOOSE, "(?:tôi )?chọn"), (NOT, ("không phải(?: "
            "là)?")), (BUT, "mà(?: là)?"), (OPTION, "phương án"), (BECAUSE, "vì"),
    ),
    "Swedish, Danish, Norwegian": (
        (CORRECT, "(?:r[aä]tt|korrekt\\w?|riktig\\w?|rigtige?) svar(?:et)?(?: (?:är|er))?"), (ANSWER, "svar(?:et)?"),
        (IS, "är|er"), (NOT, "(?:är |er )?(?:inte|ikke)"), (BUT, "utan|men"),
    ),
    "Ukrainian": (
        (IT_IS, ("(?:правильна|остаточна) відповідь(?: ?[—–:-])?|відповідь(?: "
            "?[—–:-])?")), (NOT, "не"), (BECAUSE, "тому що"),
    ),
    "Persian, Urdu": (
        (IT_IS, ("(?:پاسخ|جواب)(?: (?:صحیح|درست|نهایی))*(?: گزینه)?"
            "|گزینه(?: (?:صحیح|درست|نهایی))+")), (OPTION, "گزینه"), (".", "(?:است|ہے)"), (WRONG, "نادرست|غلط"),
    ),
    "Greek": ((IT_IS, "(?:σωστή )?απάντηση(?: είναι)?(?: η| το)?"),),
    "Hebrew": ((IT_IS, "(?:התשובה|תשובה)(?: (?:הנכונה|הסופית))*(?: (?:היא|הוא))?"),),
    "Thai": ((IT_IS, "คำตอบ(?:ที่ถูกต้อง|สุดท้าย)?(?:คือ)?(?: ?ข้อ)?"),),
    "Bengali": ((IT_IS, "(?:সঠিক )?উত্তর"),),
}  # fmt: skip
"""For each language, the English phrase and the expression that it replaces, in the order of replacement."""

CUES = {NOT, ANSWER, CORRECT, FINAL, IT_IS, MINE, CHOOSE, OPTION, LIKELIEST, RIGHT, WRONG}
"""English phrases, one of which a text must have before another phrase of the same language is rewritten."""
ARTICLE, NAME = "(?:(?:die|la|le|il|el|(?-i:a|o)) )?", r"([^.,;:\n]{1,60}?)"
COMPARED = caseless(
    rf"\b(?:(?:eher|eerder|plut[oô]t|piuttosto|m[aá]s bien) (?!(?:als|dan|que|che)\b|qu['’]){ARTICLE}{NAME}"
    rf" (?:als|dan|que|qu['’]|che)|(?:mais|antes) {ARTICLE}{NAME} do que)\b(?: {ARTICLE})?"
)
"""A comparison whose first part is the answer: `Eher A als B`."""
DENYING: Final = (
    r"aus(?:zu)?schlie(?:ß|ss)\w*|schlie(?:ß|ss)en?(?=[^.;!?\n]*\baus\b)|verw[ei]rf\w*"
    r"|(?:descart|e?scart|esclud|exclu[iíy]|élimin|écart)\w+|exclu(?:o|s|t|ons)|elimin(?:o|e|ons)|ecart(?:e|ons)"
    r"|odrzuc\w+|wyklucz\w+|исключ\w+|vyloučen\w*"
)
"""Verbs that reject what they are about: `Ich schließe B aus`, `Je l'écarte`."""
JOINERS = re.compile(
    r"(?<=\b[A-J])\)?\s+(?:y|e|et|und|og|och|i|и|ve|dan|o|u|ou|oder|eller|или|lub|veya|atau)\s+(?=\(?[A-J]\b)"
)

DOUBLED = re.compile(r"(?<=\w)  (?=\w)")
"""Two spaces between a phrase and the next word."""


def _compiled(foreign: str) -> re.Pattern[str]:
    spaced = re.search(rf"[{SPACELESS}]", foreign) is None
    return caseless(rf"(?<![^\W\d_])(?:{foreign})(?![^\W\d_])" if spaced else f"(?:{foreign})")


def _cues(rows: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    return caseless("|".join(f"(?:{_compiled(foreign).pattern})" for english, foreign in rows if english in CUES))


@cache
def _languages() -> tuple[tuple[re.Pattern[str], tuple[tuple[str, re.Pattern[str]], ...]], ...]:
    """Compile the table at its first use, which takes longer than importing all other rules for letters."""
    return tuple(
        (_cues(rows), tuple((f" {english} ", _compiled(foreign)) for english, foreign in rows))
        for rows in PHRASES.values()
    )


def _found(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (match[0] for match in pattern.finditer(text))


def comparisons_in_english(text: str) -> str:
    """Rewrite `Eher A als B` of several languages as `A rather than B`."""
    return COMPARED.sub(rf"\1\2 {RATHER} ", text)


def to_english(text: str) -> str:
    """Rewrite look-alike letters, and the phrases of each language in which a phrase of the text gives an answer."""
    if not text.isascii():
        text = LOOKALIKE.sub(lambda match: match[0].translate(LOOKALIKES), text.translate(PUNCTUATION))
        text = SEAM.sub(" ", text)
    text = comparisons_in_english(text)
    # Languages share words: the one that matches most of the text comes first.
    counts = [(sum(map(len, _found(cue, text))), rows) for cue, rows in _languages()]
    present = [entry for entry in counts if entry[0]]
    for _, rows in sorted(present, key=lambda entry: -entry[0]):
        for english, foreign in rows:
            text = foreign.sub(english, text)
    return JOINERS.sub(" and ", DOUBLED.sub(" ", text) if present else text)
