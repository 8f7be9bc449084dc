// SPDX-License-Identifier: Apache-2.0

package simweb

import "strings"

// topics is the number of topics that a page can be about. Each language writes about the same ones, in the same order.
const topics = 6

// sections are the first path segments of the topics.
var sections = [topics]string{"fishing", "weather", "boats", "harbours", "market", "kitchen"}

// language is a small written language: sentences with gaps, and words to fill them.
//
// Text consists of sentences, not of random words, so that a person can read a page of the demo, function words have
// the frequencies that grammar gives them, and a phrase search finds phrases. The words of a gap are drawn with Zipf's
// law, the first most often.
type language struct {
	tag, dir string          // lang and dir attributes
	space    string          // between sentences
	gaps     map[byte]string // gap letter → fillings, separated by |
	// A place is one of placeA followed by one of placeB: a few hundred names, the long tail of the vocabulary.
	placeA, placeB string
	placeFirst     bool   // in titles: place, between, subject
	between        string // stands between subject and place
	home           string // anchor of the first page
	generic        string // anchors such as "more"
	updated        string // label of the date line
	topics         [topics]topic
}

// topic is the titles and sentences of a language about one topic.
type topic struct {
	subjects  string // eight titles, separated by |
	sentences string // one per line; $x is gap x, $p a place, $N a number
}

// subjectsPerTopic is the same for every language, so that one draw names a page's subject in its title and, in
// English, in its path.
const subjectsPerTopic = 8

// languages are in the order of their numbers, on which golden hashes depend: add at the end.
var languages = []*language{&englishWords, &germanWords, &chineseWords, &japaneseWords, &arabicWords, &russianWords}

func languageByTag(tag string) int {
	for i, l := range languages {
		if l.tag == tag {
			return i
		}
	}
	return -1
}

func fields(s string) []string { return strings.Split(s, "|") }

// lines splits sentences, without the indentation of the source.
func lines(s string) []string {
	out := strings.Split(strings.TrimSpace(s), "\n")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
