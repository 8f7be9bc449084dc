// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"
	"strings"
	"testing"
)

// TestCompound: compounds are cut at the right places, and words that only look like compounds not at all.
func TestCompound(t *testing.T) {
	for word, want := range map[string]string{
		"wurzelverzeichnis":           "wurzel verzeichnis",
		"paketverwaltung":             "paket verwaltung",
		"softwareentwicklung":         "software entwicklung",
		"konfigurationsdateien":       "konfiguration dateien",
		"textverarbeitungsprogrammen": "text verarbeitung programmen",
		"betriebssystem":              "betriebs system",
		"zeichenkettenlange":          "zeichenketten lange",
		"verzeichnis":                 "",
		"zeitungen":                   "",
		"vergangenheit":               "",
		"landschaft":                  "",
		"wirtschaft":                  "",
		"staubecken":                  "",
		"beginnendes":                 "",
		"installieren":                "",
		"comprehensive":               "",
		"versionsverwaltungsxyz":      "",
		"":                            "",
	} {
		var got []string
		for _, p := range compound(nil, []byte(word)) {
			got = append(got, word[p.from:p.to])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// TestPieces: the nouns of a compound have its position and place, in German texts only, short words and long ones,
// with and without umlauts.
func TestPieces(t *testing.T) {
	const text = "Die Dateigröße im Wurzelverzeichnis: Textdatei"
	want := "die@0 dateigrosse@1 datei~@1 grosse~@1 im@2 wurzelverzeichnis@3 wurzel~@3 verzeichnis~@3 textdatei@4 " +
		"text~@4 datei~@4"
	list := tokens(German, text)
	if got := show(list); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	compounds := []string{"Dateigröße", "Wurzelverzeichnis", "Textdatei"}
	for _, k := range list {
		if k.Kind == KindPiece && !slices.Contains(compounds, text[k.Start:k.End]) {
			t.Errorf("%s is at %q", k.Term, text[k.Start:k.End])
		}
	}
	for _, k := range tokens(English, text) {
		if k.Kind == KindPiece {
			t.Errorf("%s is a piece", k.Term)
		}
	}
}

// TestNouns: the list is sorted and folded, and each word can be found.
func TestNouns(t *testing.T) {
	list := strings.Fields(germanFile)
	if !slices.IsSorted(list) || len(list) < 2000 || len(list) != len(germanNouns()) {
		t.Errorf("%d words, %d nouns", len(list), len(germanNouns()))
	}
	for _, w := range list {
		if string(Fold(nil, []byte(w))) != w || len(w) < minNoun || len(w) > maxNoun {
			t.Errorf("%q", w)
		}
	}
}
