// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abadojack/whatlanggo"

	"github.com/seine-crawler/seine/engine/parse/language"
)

// languageGroups are the 30 languages with most speakers among those that lingua knows (Ethnologue, 2024), and the 30
// in which most of the web is written (W3Techs, 2024; its no is nb here).
var languageGroups = map[string][]string{
	"speakers": strings.Fields(
		"en zh hi es fr ar bn pt ru ur id de ja mr te tr ta vi tl ko fa sw it pa gu th pl uk nl ro"),
	"web": strings.Fields(
		"en es de ja fr pt ru it nl pl tr zh fa vi id cs ko uk hu sv ar ro el da fi he sk th bg hr"),
}

// whatlanggoTags are the tags of languages for which whatlanggo has no tag of two letters, or another one.
var whatlanggoTags = map[whatlanggo.Lang]string{whatlanggo.Pes: "fa", whatlanggo.Nob: "nb"}

// sentences returns lingua's test sentences of a language.
func sentences(b *testing.B, dir, tag string) (all [][]byte) {
	text, err := os.ReadFile(filepath.Join(dir, tag+".txt"))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all = append(all, line)
		}
	}
	return all
}

// BenchmarkLanguage names the language of the sentences in SEINE_SENTENCES (bench/training/language/sentences.sh): the
// mean over languages of the share of sentences that are named rightly, and the time that a sentence takes. seine
// chooses among its 75 languages, whatlanggo among its 84, not only among those of the group.
func BenchmarkLanguage(b *testing.B) {
	dir := os.Getenv("SEINE_SENTENCES")
	if dir == "" {
		b.Skip("set SEINE_SENTENCES to a folder that bench/training/language/sentences.sh has filled")
	}
	for _, group := range []string{"speakers", "web"} {
		all, n := map[string][][]byte{}, 0
		for _, tag := range languageGroups[group] {
			all[tag] = sentences(b, dir, tag)
			n += len(all[tag])
		}
		run := func(name string, detect func(sentence []byte) string) {
			b.Run(group+"/"+name, func(b *testing.B) {
				mean := 0.0
				for b.Loop() {
					mean = 0
					for tag, some := range all {
						right := 0
						for _, s := range some {
							if detect(s) == tag {
								right++
							}
						}
						mean += float64(right) / float64(len(some)) / float64(len(all))
					}
				}
				per(b, n, "sentence")
				b.ReportMetric(100*mean, "right-%")
			})
		}
		run("seine", func(s []byte) string {
			tag, _ := language.Detect(s)
			return tag
		})
		if group != "speakers" { // it takes half a minute
			continue
		}
		run("whatlanggo", func(s []byte) string {
			l := whatlanggo.Detect(string(s)).Lang
			if tag := whatlanggoTags[l]; tag != "" {
				return tag
			}
			return l.Iso6391()
		})
	}
}
