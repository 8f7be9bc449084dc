// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// marksMax is the number of combining marks in a row that are shown. Scripts need up to four; pages that pile up more
// paint over their neighbours.
const marksMax = 4

// clean makes a text from a page harmless for the text around it: white space and control characters become single
// spaces, characters that change the direction of writing or cannot be seen are left out, and so is what is beyond a
// number of characters. It escapes nothing: that is the templates' part.
func clean(s string, most int) string {
	if text, ok := cleanASCII(s); ok && len(text) <= most {
		return text
	}
	var b strings.Builder
	b.Grow(min(len(s), 4*most))
	n, marks, space := 0, 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = n > 0
			continue
		case hidden(r):
			continue
		case unicode.Is(unicode.M, r):
			if marks++; marks > marksMax {
				continue
			}
		default:
			marks = 0
		}
		if n++; n > most {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cleanASCII is clean for most texts: printable ASCII with single spaces, of which it cuts off those at the ends. ok is
// false for others.
func cleanASCII(s string) (text string, ok bool) {
	s = strings.Trim(s, " ")
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == ' ' && s[i-1] == ' ' {
			return "", false
		}
	}
	return s, true
}

// hidden reports whether a character shows nothing itself, but may change how others are shown or read. Joiners are
// none: Persian and Indic scripts, and emoji, need them.
func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d': // joiners
		return false
	case utf8.RuneError:
		return false
	case '\u00ad', '\u115f', '\u1160', '\u3164', '\uffa0': // soft hyphen, Hangul fillers
		return true
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false // they are seen
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r >= 0xe0000 && r <= 0xe0fff
}

// piece is a part of a text; Mark says that it matches the query.
type piece struct {
	Text string
	Mark bool
}

// pieces cuts a text at its matches, and makes the parts harmless.
func pieces(text string, matches [][2]int) []piece {
	var list []piece
	add := func(s string, mark bool) {
		if s = strings.TrimFunc(s, hidden); s == "" {
			return
		}
		c := clean(s, len(s))
		if before, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(before) {
			c = " " + c
		}
		if after, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(after) && c != " " {
			c += " "
		}
		list = append(list, piece{c, mark})
	}
	at := 0
	for _, m := range matches {
		if m[0] < at || m[1] > len(text) || m[0] >= m[1] {
			continue
		}
		add(text[at:m[0]], false)
		add(text[m[0]:m[1]], true)
		at = m[1]
	}
	add(text[at:], false)
	return list
}

// marked is the HTML of a text in pieces. Templates reflect: to go through the pieces of each hit would allocate a
// fifth of what a page of hits does.
func marked(list []piece) template.HTML {
	var b strings.Builder
	for _, p := range list {
		if p.Mark {
			b.WriteString("<mark>")
		}
		b.WriteString(template.HTMLEscapeString(p.Text))
		if p.Mark {
			b.WriteString("</mark>")
		}
	}
	return template.HTML(b.String())
}

// numberText writes a number with its thousands apart: 4,210,007.
func numberText(n any) string {
	s := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		return sign + whole + "." + rest
	}
	return sign + whole
}

// plural is a number of things: "1 link", "4,210 links".
func plural(n any, one string) string {
	text := numberText(n)
	if text == "1" {
		return "1 " + one
	}
	if strings.HasSuffix(one, "y") && !strings.HasSuffix(one, "ay") {
		return text + " " + strings.TrimSuffix(one, "y") + "ies"
	}
	if strings.HasSuffix(one, "ch") {
		return text + " " + one + "es"
	}
	return text + " " + one + "s"
}

// byteText writes a number of bytes in units of 1,000, with three digits: 3.14 GB.
func byteText[N int | int64 | uint64 | uint32 | float64](n N) string {
	v := float64(n)
	if v < 1000 {
		return strconv.Itoa(int(v)) + " B"
	}
	units := []string{"kB", "MB", "GB", "TB", "PB"}
	i := -1
	for v >= 999.5 && i+1 < len(units) {
		v /= 1000
		i++
	}
	return three(v) + " " + units[i]
}

// three writes a number below 1,000 with at most three digits.
func three(v float64) string {
	switch {
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// rateText writes a number of things a second: 1,240 or 3.50.
func rateText(v float64) string {
	if v >= 99.95 {
		return numberText(strconv.FormatFloat(v, 'f', 0, 64))
	}
	if v == 0 {
		return "0"
	}
	return three(v)
}

// scoreText writes the score of a page: 0.0238, 33.9 or 1,698.
func scoreText(v float64) string {
	if math.Abs(v) >= 999.5 {
		return numberText(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// cleanLines is clean for a text of many lines, of which it keeps the first up to a number of characters.
func cleanLines(s string, most int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if b.Len() >= most {
			b.WriteString("…")
			break
		}
		b.WriteString(clean(line, most-b.Len()) + "\n")
	}
	return b.String()
}

// robotsText says in short what a request for robots.txt brought.
func robotsText(status uint16) string {
	switch {
	case status == 599 || status == 0:
		return "unreachable"
	case status == 404 || status == 410:
		return "none (" + strconv.Itoa(int(status)) + ")"
	}
	return "HTTP " + strconv.Itoa(int(status))
}

// tookText writes a short duration: "4 ms", "1.2 s".
func tookText(d time.Duration) string {
	switch {
	case d == 0:
		return "0 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// spanText writes a duration in its two largest units: "2 h 10 min".
func spanText(d time.Duration) string {
	d = d.Abs()
	steps := []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	if d < time.Second {
		return tookText(d)
	}
	for i, s := range steps {
		if d < s.unit {
			continue
		}
		text := fmt.Sprintf("%d %s", d/s.unit, s.name)
		if i+1 < len(steps) {
			if rest := d % s.unit / steps[i+1].unit; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, steps[i+1].name)
			}
		}
		return text
	}
	return ""
}

// ago says how long a time is before now, or after it, in one unit.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	form := "%s ago"
	if d < 0 {
		d, form = -d, "in %s"
	}
	days := int(d.Hours() / 24)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf(form, strconv.Itoa(int(d.Seconds()))+" s")
	case d < time.Hour:
		return fmt.Sprintf(form, strconv.Itoa(int(d.Minutes()))+" min")
	case d < 48*time.Hour:
		return fmt.Sprintf(form, strconv.Itoa(int(d.Hours()))+" h")
	case days < 60:
		return fmt.Sprintf(form, plural(days, "day"))
	case days < 730:
		return fmt.Sprintf(form, plural(days/30, "month"))
	}
	return fmt.Sprintf(form, plural(days/365, "year"))
}

// exactText is a time as it stands where the mouse hovers.
func exactText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// dateText is the day of a time.
func dateText(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// languages are the English names of the languages that are detected, and of others that pages declare.
var languages = map[string]string{
	"af": "Afrikaans", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali",
	"bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
	"en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
	"fi": "Finnish", "fr": "French", "ga": "Irish", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
	"hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese",
	"ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "la": "Latin", "lg": "Ganda", "lt": "Lithuanian",
	"lv": "Latvian", "mi": "Māori", "mk": "Macedonian", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay",
	"nb": "Norwegian", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish",
	"pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovene", "sn": "Shona",
	"so": "Somali", "sq": "Albanian", "sr": "Serbian", "st": "Southern Sotho", "sv": "Swedish", "sw": "Swahili",
	"ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tn": "Tswana", "tr": "Turkish", "ts": "Tsonga",
	"uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "xh": "Xhosa", "yi": "Yiddish", "yo": "Yoruba",
	"zh": "Chinese", "zu": "Zulu",
}

// languageName is the name of a language by its code, or the code.
func languageName(code string) string {
	if name := languages[code]; name != "" {
		return name
	}
	return clean(code, 20)
}

// direction is that of a language's writing: "rtl", or "auto" where the text itself has to say it.
func direction(code string) string {
	switch code {
	case "ar", "fa", "he", "ur", "yi", "ps", "sd", "ug", "dv", "ckb", "syr":
		return "rtl"
	}
	return "auto"
}

// languageTag is a code as the attribute lang has it, "" where it is none.
func languageTag(code string) string {
	for _, r := range code {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && (r < '0' || r > '9') {
			return ""
		}
	}
	return code
}
