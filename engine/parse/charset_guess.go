// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Single-byte charsets are distinguished by the letters to which they map the bytes beyond ASCII. Each pair of a
// charset and a language gives every such byte a weight: the logarithm of its letter's frequency among the language's
// letters beyond ASCII. The pair with the highest mean weight wins. What does not occur in text costs extra:
// capitals and signs inside words, unassigned bytes, many accented letters in a row in Latin script, letters of
// other scripts next to ASCII letters.

// A guess is one pair.
type guess struct {
	charset string
	enc     *charmap.Charmap
	latin   bool
	weights [128]float32
	classes [128]byteKind
}

// byteKind is the kind of character that a byte represents.
type byteKind uint8

const (
	kindNothing byteKind = iota // unassigned, or a control
	kindSign                    // not a letter
	kindLower                   // a small letter, or a letter of a script without case
	kindUpper
)

// Weights of characters that are not letters of the language, and costs of what does not occur in text.
const (
	weightNothing    = -14
	weightOther      = -8 // a letter of another language
	weightSign       = -8 // a rare sign
	weightCommonSign = -4
	weightUpper      = -2 // added to the small letter's weight
	costInside       = -5 // a capital or a sign inside a word
	costAccents      = -3 // three accented letters in a row
	costMixed        = -3 // a letter of another script next to an ASCII letter
)

// guessed are the charsets and the letter frequencies of their languages: each letter, then its share of the letters
// beyond ASCII in thousandths. (Rounded from published letter frequencies.)
var guessed = []struct {
	latin    bool
	charsets string
	letters  []string
}{
	{true, "windows-1252 macintosh", []string{
		"ä270 ö150 ü330 ß200 é20",
		"é600 è100 à130 ê60 ç40 ô20 â15 î15 û15 ù15 ë5 ï5 œ5",
		"ó300 í240 á200 é140 ñ80 ú50 ü3 ¿10 ¡5",
		"ã200 ç150 á140 é120 í90 ó80 ê80 õ40 ú40 â40 à20 ô20",
		"ä330 ö250 å250 é20",
		"ø300 å300 æ250 é20 ö10",
		"è300 à300 ù150 ò150 ì80 é80",
		"í170 á170 ð150 ö100 þ80 é70 ú80 ý60 ó100 æ70",
		"é300 ë400 ï150 ö60 ü60 è30",
	}},
	{true, "windows-1250 iso-8859-2", []string{
		"á250 é260 í50 ó80 ö80 ő70 ú30 ü50 ű20",
		"á170 č80 ď2 é100 ě130 í250 ň6 ó4 ř90 š60 ť4 ú12 ů46 ý80 ž75",
		"á200 ä10 č100 ď15 é90 í110 ĺ2 ľ40 ň15 ó15 ô20 ŕ1 š90 ť50 ú90 ý110 ž90",
		"ą150 ć60 ę160 ł260 ń30 ó120 ś100 ź10 ż130",
		"č300 š300 ž250 ć120 đ60",
		"ă400 â80 î200 ş140 ţ160",
	}},
	{true, "windows-1254", []string{
		"ı320 ş150 ğ100 ü170 ç100 ö80 İ30 â10",
	}},
	{true, "windows-1257", []string{
		"ā300 ī120 ē120 š110 ū60 ņ60 ļ40 ž40 č20 ģ15 ķ15",
		"ė200 š150 ą100 ų180 ž100 ū80 č60 į80 ę40",
		"ä300 õ300 ü250 ö80 š5 ž5",
	}},
	{false, "windows-1251 koi8-r ibm866 iso-8859-5 x-mac-cyrillic ibm855", []string{
		"о110 е85 а80 и74 н67 т63 с55 р47 в45 л44 к35 м32 д30 п28 у26 я20 ы19 ь17 г17 з16 б16 ч14 й12 х10 " +
			"ж9 ш7 ю6 ц5 щ4 э3 ф3 ъ1 ё1",
		"а120 и90 о90 е87 т75 н74 с50 р47 в46 л36 к33 д34 п28 м24 з22 ъ19 у16 я17 г16 б15 ч15 ж7 х7 ц6 щ7 " +
			"ш5 ю2 й7 ф3 ь1",
	}},
	{false, "koi8-u windows-1251", []string{
		"о94 а83 н70 и60 і60 в55 т53 е50 р45 с42 к35 л37 у33 д31 м29 п28 я25 з23 ь18 г16 ч12 б17 х12 й12 ц8 " +
			"ї6 є6 ш7 ю8 ж9 щ4 ф3 ґ1",
	}},
	{false, "windows-1253 iso-8859-7", []string{
		"α110 ο95 ι80 ε80 τ80 ν65 σ60 ρ43 π40 κ40 ς40 μ33 λ30 υ40 η45 ά20 έ20 ί25 ό25 ή15 ώ10 ύ10 ω20 δ17 " +
			"γ18 χ12 θ12 φ8 β7 ξ4 ζ4 ψ2",
	}},
	{false, "windows-1255", []string{
		"י110 ה100 ו100 ל70 א65 ת55 מ50 ר55 ש50 ב50 נ30 ד26 ח25 ם28 ק22 פ20 ע32 כ24 ט12 ג13 ס15 צ12 ן12 ז8 " +
			"ף3 ך7 ץ2",
	}},
	{false, "windows-1256 iso-8859-6", []string{
		"ا130 ل120 ي70 م65 و60 ن60 ر50 ت45 ب40 ع40 د35 س30 ه30 ف30 ق25 ك22 ح20 أ18 ة18 ج12 ش11 ص10 ى9 خ9 ط8 " +
			"ض7 ذ6 إ6 ث5 ز5 غ4 ئ4 ء4 ظ2 ؤ2 آ2",
	}},
	{false, "windows-874", []string{
		"า70 น60 ร60 อ45 ก50 เ50 ง42 ่55 ม35 ย35 ล35 ว35 ด30 ท30 ส30 ต30 ะ25 ป20 บ20 ค22 ห22 แ20 จ15 พ18 " +
			"ช12 ข12 ใ12 ไ14 โ10 ั40 ี30 ้40 ิ30 ์15 ็8 ุ15 ู12 ื15 ำ10 ซ7 ผ8 ถ8 ธ5 ณ5 ศ6 ษ4 ญ4 ภ5 ฐ2 ึ5",
	}},
}

// charmaps are the charsets of guessed. They are listed here because htmlindex does not return them as Charmaps.
var charmaps = map[string]*charmap.Charmap{
	"windows-1250":   charmap.Windows1250,
	"windows-1251":   charmap.Windows1251,
	"windows-1252":   charmap.Windows1252,
	"windows-1253":   charmap.Windows1253,
	"windows-1254":   charmap.Windows1254,
	"windows-1255":   charmap.Windows1255,
	"windows-1256":   charmap.Windows1256,
	"windows-1257":   charmap.Windows1257,
	"windows-874":    charmap.Windows874,
	"iso-8859-2":     charmap.ISO8859_2,
	"iso-8859-5":     charmap.ISO8859_5,
	"iso-8859-6":     charmap.ISO8859_6,
	"iso-8859-7":     charmap.ISO8859_7,
	"koi8-r":         charmap.KOI8R,
	"koi8-u":         charmap.KOI8U,
	"ibm855":         charmap.CodePage855,
	"ibm866":         charmap.CodePage866,
	"macintosh":      charmap.Macintosh,
	"x-mac-cyrillic": charmap.MacintoshCyrillic,
}

// commonSigns are the signs of ordinary text.
const commonSigns = "\u00a0«»„“”‘’–—…·•°©®§€№£´\u00ad×"

// guesses makes the pairs when they are first needed. Many crawls never need them.
var guesses = sync.OnceValue(func() (list []guess) {
	for _, g := range guessed {
		for charset := range strings.FieldsSeq(g.charsets) {
			for _, letters := range g.letters {
				list = append(list, newGuess(charset, g.latin, letters))
			}
		}
	}
	return list
})

func newGuess(charset string, latin bool, letters string) guess {
	shares := map[rune]float64{}
	for field := range strings.FieldsSeq(letters) {
		letter, size := utf8.DecodeRuneInString(field)
		n, err := strconv.Atoi(field[size:])
		if err != nil {
			panic("BUG: parse: letter frequency " + field)
		}
		shares[letter] = float64(n) / 1000
	}
	g := guess{charset: charset, enc: charmaps[charset], latin: latin}
	for i := range g.weights {
		r := g.enc.DecodeByte(byte(128 + i))
		lower := unicode.ToLower(r)
		share := shares[lower]
		if share == 0 {
			share = shares[r]
		}
		switch {
		case r == utf8.RuneError || unicode.IsControl(r):
			g.classes[i], g.weights[i] = kindNothing, weightNothing
		case share > 0:
			g.classes[i], g.weights[i] = kindLower, float32(math.Log(share))
			if lower != r {
				g.classes[i], g.weights[i] = kindUpper, float32(math.Log(share))+weightUpper
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			g.classes[i], g.weights[i] = kindLower, weightOther
			if lower != r {
				g.classes[i] = kindUpper
			}
		case strings.ContainsRune(commonSigns, r):
			g.classes[i], g.weights[i] = kindSign, weightCommonSign
		default:
			g.classes[i], g.weights[i] = kindSign, weightSign
		}
	}
	return g
}

// guessSingleByte returns the likeliest single-byte charset of a sample, nil if the sample has no bytes beyond ASCII.
func guessSingleByte(sample []byte) *guess {
	var best *guess
	most := float32(math.Inf(-1))
	list := guesses()
	for i := range list {
		if score, n := list[i].score(sample); n > 0 && score > most {
			best, most = &list[i], score
		}
	}
	return best
}

// score returns the mean weight of the bytes beyond ASCII, and their number.
func (g *guess) score(sample []byte) (mean float32, n int) {
	var sum float32
	run := 0 // letters beyond ASCII in a row
	for i, c := range sample {
		if c < utf8.RuneSelf {
			run = 0
			continue
		}
		n++
		kind := g.classes[c-128]
		sum += g.weights[c-128]
		before, after := g.kindAt(sample, i-1), g.kindAt(sample, i+1)
		switch kind {
		case kindUpper:
			if before == kindLower {
				sum += costInside
			}
		case kindSign:
			if before >= kindLower && after >= kindLower {
				sum += costInside
			}
		}
		if kind < kindLower {
			run = 0
			continue
		}
		if run++; g.latin && run >= 3 {
			sum += costAccents
		}
		if !g.latin && (i > 0 && isLetter(sample[i-1]) || i+1 < len(sample) && isLetter(sample[i+1])) {
			sum += costMixed
		}
	}
	return sum / float32(max(n, 1)), n
}

// kindAt returns the kind of the byte at i, which may be ASCII; kindNothing outside the sample.
func (g *guess) kindAt(sample []byte, i int) byteKind {
	if i < 0 || i >= len(sample) {
		return kindNothing
	}
	switch c := sample[i]; {
	case c >= utf8.RuneSelf:
		return g.classes[c-128]
	case 'a' <= c && c <= 'z':
		return kindLower
	case 'A' <= c && c <= 'Z':
		return kindUpper
	}
	return kindSign
}
