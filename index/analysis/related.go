// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// paradigms are, by language, sets of endings that one word takes: two forms of one stem are forms of one word if one
// set has the ending of both after a common beginning. "" is written 0. They have the endings of inflection and, for
// English, derivations that rarely change what is looked for: install, installation; quick, quickly. Derivations that
// do change it are left out, which is the point: -ity, -al, -ive, -ize, -er, -ic (universe, university; organ, organize,
// organic; comprehension, comprehensive; custom, customer). Endings are folded, like words.
//
// Agglutinating languages (Finnish, Hungarian, Turkish, Tamil) have too many endings to list; there nil means that a
// common beginning is enough (see Related).
var paradigms = [languageEnd][][]string{
	English: endings(
		"0 s es ed ing ings ly ation ations ion ions ment ments ness",
		"e es ed ing ings ely ation ations ion ions ement ements eness",
		"y ies ied ying ily iness yings",
		"ie ies ied ying",
		"ic ically ics", "le ly les", "al ally als",
	),
	German: endings(
		"0 e en em er es n s ern ere eren erer eres erem ste sten ster stes est t te ten tet test st end ende enden "+
			"ender endes endem",
		"0 se ses sen", "e ste sten ster stes eres ere eren erer", "el eln le len els elt elte", "er ern re ren ers ere eren erer eres",
	),
	French: endings(
		"0 s e es x", "e es er ee ees ez eant eait eaient eons eons ent ant ait aient ais ai as a ons ions era erai erons eront erait ants ante antes",
		"al ale ales aux", "el elle els elles", "il ille ils illes", "en enne ens ennes", "on onne ons onnes",
		"eur euse eurs euses eure eures", "eux euse euses", "if ive ifs ives", "er ere ers eres",
		"ir i ie is ies it issent issant issait issaient ira irait issons issez", "re s t ent u ue us ues ant ait",
		"et ette ets ettes", "c che cs ches que ques", "oir oit oivent u ue us ues",
	),
	Spanish: endings(
		"0 s es a as o os e",
		"ar o as a amos ais an e es en emos aba abas aban abamos ando ado ada ados adas ara aran are aremos aria arian "+
			"aron arse arlo arla arlos arlas ase asen",
		"er ir o es e emos imos en ia ias ian iamos iendo ido ida idos idas io ieron era eran ere eria erian ira iran "+
			"iria irian a an iera ieran erse irse",
		"z ces", "on ones", "cion ciones", "mente 0 a", "amente o a os as",
	),
	Italian: endings(
		"o a i e he hi 0",
		"are o i a iamo ate ano ando ato ata ati ate ava avano avo ai arono era eranno erebbe erebbero armi arsi arlo arla",
		"ere ire o i e iamo ete ite ono endo uto uta uti ute ito ita iti ite eva evano iva ivano erono irono era eranno "+
			"ira iranno isce iscono isco", "mente e 0", "amente o a i e", "io i ia ie", "co ci che chi ca", "go gi ghe ghi ga",
	),
	Portuguese: endings(
		"0 s es a as o os e", "ao oes aos", "m ns", "l is", "el eis", "il is eis",
		"ar o as a amos am e es em emos ava avas avam avamos ando ado ada ados adas ara aram arao are aria ariam ou asse "+
			"assem ares armos arem",
		"er ir o es e emos imos em ia ias iam iamos endo indo ido ida idos idas eu iu eram iram era ira erao irao eria "+
			"iria eriam iriam a am esse isse erem irem", "mente 0 a", "amente o a os as",
	),
	Dutch: endings(
		"0 e en s er ers ere t te ten de den end ende st ste", "f ve ven fs", "s ze zen", "heid heden",
	),
	Swedish: endings(
		"0 a ar arna arnas ars as ad ade ades ande andet at e en ens er erna ernas ers es et ets na nas n ns or orna s t "+
			"ts is are ast aste r te t tes it", "el ler lar len eln lerna larna eln els lers",
	),
	Danish: endings(
		"0 e en ens er erne ernes ers es et ets ede ende endes eren eret ere erer ered s t te tes n ns r rne rnes ne nes "+
			"est este et",
		"el ler len lerne els elen", "er re ren rene ers",
	),
	Norwegian: endings(
		"0 e en ens er ene enes ers es et ets ede ende a as ane ar ast ert s t te n ns r ne nes est este ere",
		"el ler len lene els elen", "er re ren rene ers",
	),
	Romanian: endings(
		"0 a e i le lor ul ului uri urile urilor ii iilor iile ei elor ele ilor ile u ua l lui o",
		"ie ia ii iei iile iilor", "iune iunea iuni iunii iunile iunilor iunei",
		"a are at ate ata ati ai am au and easa eaza ez ezi ari arii area arile arilor arei e asera ase",
		"e ere ut ute uta uti i em eau ind easca esc esti este i ire it ite ita iti iri irea irii",
	),
	Russian: endings(
		"0 а я о е и ы у ю ь й ой ей ем ом ам ям ами ями ах ях ов ев ия ие ии ию ий ием иям иями иях ью ья ье ьи ьев "+
			"ьям",
		"ый ий ой ая яя ое ее ые ие ого его ому ему ым им ом ем ую юю ых их ыми ими ою ею 0 а о ы е и",
		"ть л ла ло ли т ет ит ют ят ем им ете ите ешь ишь ю у и й йте ите в вши вший я а ают яют ает яет аем яем "+
			"ать ять еть ить ал ала ало али ил ила ило или ят ут ся лся лась лось лись тся ться ется ится ются ятся "+
			"уют ует уется уются овать ован овано овали овал "+
			"н на но ны нный нная нное нные ного нных нной ным ными ен ена ено ены енный енная енное енные енного "+
			"енных енной енным енными ющий ющая ющее ющие ющих емый емая емое емые",
		"ка ки ку ке кой ок кам ками ках", "ец ца цу це цы цев цом", "ния ние нии нию ний нием ниям ниями ниях",
	),
	Irish: endings("0 a e i ta te anna i the tha acha adh ann eann ear aimid imid as aigh igh ai"),
}

func endings(sets ...string) (list [][]string) {
	for _, set := range sets {
		words := strings.Fields(set)
		for i, w := range words {
			if w == "0" {
				words[i] = ""
			}
		}
		slices.Sort(words)
		list = append(list, slices.Compact(words))
	}
	return list
}

// minBase is the length of the shortest common beginning of two related forms, in characters.
const minBase = 2

// apart are pairs of one stem and paradigm that are different words: the adverb does not mean what the adjective does,
// or the noun what the verb does. They are few because the list of false pairs that Related leaves in real text is
// short.
var apart = [languageEnd]map[[2]string]bool{
	English: pairs("hard hardly", "late lately", "near nearly", "short shortly", "bare barely", "depart department",
		"depart departments", "apart apartment", "apart apartments", "part partly", "secret secretion", "port portion",
		"past pasted", "past pasting", "with withs", "bas bases", "base basing", "news newly", "vers version",
		"vers versions", "sess session", "appear apparel"),
}

func pairs(list ...string) map[[2]string]bool {
	m := map[[2]string]bool{}
	for _, p := range list {
		a, b, _ := strings.Cut(p, " ")
		m[[2]string{a, b}] = true
	}
	return m
}

// Related reports whether two folded forms with one stem (see Stemmer) may stand for each other in a search: whether
// they are forms of one word. Snowball cuts off derivation too and so gives words one stem that are nothing alike, such
// as universe and university, organ and organization, police and policies. The relation is symmetric and each form is
// related to itself. Words of an unknown language are related to themselves only.
func Related(lang Language, a, b string) bool {
	if a == b {
		return true
	}
	if lang == Unknown || lang >= languageEnd || len(a) < 2 || len(b) < 2 {
		return false
	}
	if lang.of([]byte(a)) != lang.of([]byte(b)) {
		return false
	}
	switch lang = lang.of([]byte(a)); lang {
	case Arabic:
		return relatedArabic(a, b)
	case Dutch:
		a, b = shortVowels.Replace(a), shortVowels.Replace(b)
	case Irish:
		a, b = unmutated(a), unmutated(b)
	}
	if paradigms[lang] == nil {
		return agglutinated(a, b, 8)
	}
	if apart[lang][[2]string{a, b}] || apart[lang][[2]string{b, a}] {
		return false
	}
	return inflected(lang, a, b)
}

// inflected reports whether some beginning of both words leaves two endings of one paradigm.
func inflected(lang Language, a, b string) bool {
	common := commonPrefix(a, b)
	for i := common; i > 0; i-- {
		if i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i]) {
			continue
		}
		x, y := a[i:], b[i:]
		if max(len(x), len(y)) > 16 || utf8.RuneCountInString(a[:i]) < minBase {
			break
		}
		for _, set := range paradigms[lang] {
			if has(set, x) && has(set, y) {
				return true
			}
		}
		if doubled(lang, a[:i], x, y) || doubled(lang, a[:i], y, x) {
			return true
		}
	}
	return false
}

func has(set []string, ending string) bool {
	_, ok := slices.BinarySearch(set, ending)
	return ok
}

// doubled reports whether y repeats the last letter of the word before an ending: run, running; Dutch man, mannen.
func doubled(lang Language, base, x, y string) bool {
	if lang != English && lang != Dutch || y == "" || base[len(base)-1] != y[0] || y[0] >= utf8.RuneSelf {
		return false
	}
	if lang == English && (x != "" && x != "s" || y[1:] != "ed" && y[1:] != "ing" && y[1:] != "ings") {
		return false
	}
	return has(paradigms[lang][0], x) && has(paradigms[lang][0], y[1:])
}

// agglutinated reports whether two words share a beginning of three characters and at least half of the shorter word,
// and neither goes on for more than the given number of characters.
func agglutinated(a, b string, rest int) bool {
	i := commonPrefix(a, b)
	for i > 0 && (i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i])) {
		i--
	}
	n, x, y := utf8.RuneCountInString(a[:i]), utf8.RuneCountInString(a[i:]), utf8.RuneCountInString(b[i:])
	return n >= 3 && x <= rest && y <= rest && 2*n >= n+min(x, y)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// relatedArabic compares two words with and without what is written before a noun: conjunction, preposition, article.
func relatedArabic(a, b string) bool {
	for _, x := range [...]string{a, bare(a, articles), bare(a, particles)} {
		for _, y := range [...]string{b, bare(b, articles), bare(b, particles)} {
			if x == y || agglutinated(x, y, 4) {
				return true
			}
		}
	}
	return false
}

var (
	articles  = []string{"وبال", "وال", "بال", "كال", "فال", "ولل", "ال", "لل"}
	particles = []string{"و", "ب", "ل", "ك", "ف", "س"}
)

// bare takes the first prefix that fits off a word, if three letters stay.
func bare(w string, prefixes []string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(w, p) && utf8.RuneCountInString(w[len(p):]) >= 3 {
			return w[len(p):]
		}
	}
	return w
}

// shortVowels spells the long vowels of Dutch with one letter, as they are in open syllables: patroon, patronen.
var shortVowels = strings.NewReplacer("aa", "a", "ee", "e", "oo", "o", "uu", "u")

// unmutated undoes the changes of an Irish word's first consonant: lenition (bh) and eclipsis (mb).
func unmutated(w string) string {
	if len(w) < 4 {
		return w
	}
	switch w[:2] {
	case "mb", "gc", "nd", "ng", "bp", "dt":
		return w[1:]
	case "bh", "ch", "dh", "fh", "gh", "mh", "ph", "sh", "th":
		return w[:1] + w[2:]
	}
	return w
}
