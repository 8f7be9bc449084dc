// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Function words hold a sentence together and say nothing of its subject: pages about printers do not say "how do I".
// The idf of English ones is near zero wherever most pages are English. That of others is not: a quarter of German
// pages makes "ich" a rare word. So a query's language is guessed from its function words, and those of this language
// are left out beside other words. English ones always are: pages of any language have English words.

// functionWords has a bit for each language, by number, of which a term is a function word. Terms are folded.
var functionWords = func() map[string]uint32 {
	m := map[string]uint32{}
	for lang, words := range map[analysis.Language]string{
		// On Cranfield's questions leaving these out ranks better than keeping them (MAP .308, not .302), and 933
		// documents in place of 1,373 match a question.
		analysis.English: `a an and are as at be but by can could did do does for from had has have how i if in into is
			it its me my of on or should so that the their them then there these this to was we were what when where
			which who why will with would you your`,
		analysis.German: `aber alle als am an auch auf aus bei beim bin bis da damit dann das dass dem den der des die
			dies diese diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es für habe haben
			hat ich ihr ihre im in ins ist kann können man mein meine mein meinem meinen mich mir mit müssen nach nicht
			noch nur ob oder ohne sein sich sie sind so soll sollen über um und uns unter vom von vor wann war warum
			was wegen welche welcher welches wenn wer werden wie wir wird wo wohin wurde wurden zu zum zur zwischen`,
		analysis.French: `à afin ai au aux avec avoir ce ces cet cette chez comme comment dans de des dont du elle elles
			en entre est et être eu fait faut il ils je la le les leur leurs lors lui ma mais me mes moi mon ne nos
			notre nous on ont ou où par pas peut peux plus pour pourquoi quand que quel quelle quelles quels qui quoi
			sa sans se ses si son sont sous sur ta tes ton tu un une vers vos votre vous y d j l n qu`,
		analysis.Spanish: `a al ante como cómo con cual cuál cuando cuándo de del desde donde dónde e el ella ellos en
			entre es esta está este esto estos fue ha hacia han hasta hay la las le les lo los mas me mi mis muy ni no
			nos o para pero por porque puede puedo que qué quién se según ser si sin sobre son su sus también te tu un
			una unas uno unos y ya yo`,
		analysis.Italian: `a agli ai al alla alle anche che chi ci come con cosa cui da dagli dai dal dalla dalle degli
			dei del della delle di dove e è ed era gli ha ho i il in io la le lo ma mi mia mio ne negli nei nel nella
			nelle non o per perché più posso può qual quale quali quando quanto questa questo se senza si sia sono su
			sugli sui sul sulla sulle tra un una uno`,
		analysis.Portuguese: `a à ao aos as às até com como da das de depois do dos e é ela ele em entre era essa esse
			esta está este eu foi há isso isto já lhe mais mas me meu minha muito na não nas nem no nos o onde os ou
			para pela pelas pelo pelos pode por porque posso qual quais quando que quem são se sem ser seu sua também
			tem um uma uns`,
		analysis.Dutch: `aan al als bij dan dat de deze die dit door dus een en er ga geen had heb hebben heeft het hij
			hoe hun ik in is je kan kunnen maar me met mij mijn moet moeten na naar niet nog nu of om onder ons ook op
			over te tot uit van vanaf veel voor waar waarom wanneer wat we welke werd wie wij wil worden wordt zal ze
			zich zij zijn zo zonder zou`,
		analysis.Swedish: `att av de den det detta dig din du då efter eller en ett från får för ha han har hur här i
			inte jag kan man med mig min mitt mot mycket måste nu någon när och om på samma sedan sig sin ska skall som
			till under upp ut utan vad var varför vem vi vid vilken vill är över`,
		analysis.Danish: `af alle at blev da de den der det dette dig din dit du efter eller en er et for fra få ham han
			har havde have hun hvad hvem hver hvilke hvilken hvis hvor hvordan hvorfor i ikke ind jeg kan man med meget
			men mig min mit mod ned noget nogle nu når og om op os over på sig sin skal som til ud under var ved vi vil
			være`,
		analysis.Norwegian: `alle at av bare ble da de den der det dette du eller en er et etter for fra få ha hadde han
			har hun hva hvem hvilken hvis hvor hvordan hvorfor i ikke inn jeg kan man med meg men min mitt mot må ned
			noe noen nå når og om opp oss over på seg sin skal som til under ut uten var ved vi vil være å`,
		analysis.Russian: `а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да для до
			его ее если есть еще же за здесь и из или им их к как какая какие какой когда кто куда ли между меня мне
			можно мой мы на над надо не нет но ну о об он она они от по под после почему при с со так также такой там
			то тогда того только у уже чем через что чтобы эта эти это этого этот я`,
	} {
		for _, w := range strings.Fields(words) {
			m[string(analysis.Fold(nil, []byte(w)))] |= 1 << lang
		}
	}
	return m
}()

// otherwise are function words that queries of other languages have as words, names or acronyms.
var otherwise = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		alle ante comment con das del des die ham hat has ins las les los man mas mein men met mit mod mon nos over par
		pas per plus por pour sans sin so sole son sous sur ton tot under van war wat wie
	`) {
		m[w] = true
	}
	return m
}()

const englishWords = 1 << analysis.English

// plain reports whether a node is a word that may be left out: the query does not insist on it.
func (n *node) plain() bool { return n.kind == nodeTerm && n.boost == 0 && n.fields == 0 }

// guessLanguages returns the language that words are from, as a bit, as far as the function words among them tell; 0
// if they do not. A word that is nothing else tells twice as much as one that is also a word of another language, or so
// short that it may be anything; it takes two of these, and more than any other language has. Languages with as many,
// such as Danish and Norwegian, have a bit each.
func guessLanguages(words []string) (set uint32) {
	var points [32]int
	for _, w := range words {
		of, n := functionWords[w], 2
		if of&(of-1) != 0 || otherwise[w] || utf8.RuneCountInString(w) < 3 {
			n = 1
		}
		for ; of != 0; of &= of - 1 {
			points[bits.TrailingZeros32(of)] += n
		}
	}
	best := 2
	for lang, n := range points {
		if n > best {
			best, set = n, 0
		}
		if n == best {
			set |= 1 << lang
		}
	}
	return set
}

// spoken returns the codes of the languages that a query may be typed in, by its letters or its function words; none if
// they do not tell. Han alone may be Chinese or Japanese.
func (p *queryParser) spoken() (codes []string) {
	var words []string
	for i := range p.lex {
		x := &p.lex[i]
		if x.field != nil || x.kind != lexWord && x.kind != lexQuote {
			continue
		}
		for _, r := range x.text {
			for _, s := range scripts {
				if unicode.Is(s.table, r) {
					return []string{s.language}
				}
			}
		}
		p.analyzer.Walk([]byte(x.text), 0, func(t *analysis.Token) { words = append(words, string(t.Term)) })
	}
	slices.Sort(words)
	for set := guessLanguages(slices.Compact(words)); set != 0; set &= set - 1 {
		codes = append(codes, analysis.Language(bits.TrailingZeros32(set)).String())
	}
	return codes
}

// scripts are those that one language has.
var scripts = []struct {
	table    *unicode.RangeTable
	language string
}{
	{unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Hangul, "ko"}, {unicode.Thai, "th"},
	{unicode.Greek, "el"}, {unicode.Hebrew, "he"},
}

// withoutFunctionWords leaves the function words of the language that a tree's words are from out beside other words.
// What it leaves is looked at again, so that a printed query is understood the same.
func (n *node) withoutFunctionWords() *node {
	for {
		left, changed := n.leaveOut(guessLanguages(n.plainWords(nil)))
		if !changed {
			return n
		}
		n = left
	}
}

// plainWords adds the words that may be left out, each once.
func (n *node) plainWords(into []string) []string {
	if n == nil {
		return into
	}
	if n.plain() && !slices.Contains(into, n.term) {
		into = append(into, n.term)
	}
	for _, list := range [][]*node{n.must, n.should} {
		for _, c := range list {
			into = c.plainWords(into)
		}
	}
	return into
}

// leaveOut returns a tree without the function words that all of some languages have, beside others, and whether it is
// another one.
func (n *node) leaveOut(languages uint32) (_ *node, changed bool) {
	if n == nil || n.kind != nodeBool || languages == 0 {
		return n, false
	}
	out := *n
	for _, list := range []*[]*node{&out.must, &out.should} {
		*list = slices.Clone(*list)
		for i, c := range *list {
			left, other := c.leaveOut(languages)
			(*list)[i], changed = left, changed || other
		}
	}
	was := len(out.should)
	out.dropFunctionWords(languages)
	if !changed && len(out.should) == was {
		return n, false
	}
	left, _ := newBool(out.must, out.should, out.not)
	return left, true
}
