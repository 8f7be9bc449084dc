// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/markusmobius/go-trafilatura"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// statement is what a library says about a page. Date is a day, "2006-01-02"; "" means none.
type statement struct{ Title, Author, Date string }

// factReader reads title, author and date of a page.
type factReader struct {
	name string
	read func(body []byte, at *url.URL) statement
}

func factReaders() []factReader {
	parsers := parse.New(parse.Options{})
	var page parse.Page
	day := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format("2006-01-02")
	}
	return []factReader{
		{"seine", func(body []byte, at *url.URL) (s statement) {
			u, err := urlkey.Parse(at.String())
			if err != nil || parsers.Parse(&parse.Input{URL: u, ContentType: "text/html", Body: body}, &page) != nil {
				return s
			}
			return statement{page.Title, page.Facts.Author, day(page.Facts.Published)}
		}},
		{"trafilatura", func(body []byte, at *url.URL) (s statement) {
			r, err := trafilatura.Extract(bytes.NewReader(body), trafilatura.Options{OriginalURL: at})
			if err != nil {
				return s
			}
			return statement{r.Metadata.Title, r.Metadata.Author, day(r.Metadata.Date)}
		}},
	}
}

// factScore counts the pages on which one fact was stated by the gold, was found, was right, and was found on a page
// whose gold does not state it.
type factScore struct{ gold, found, right, extra int }

func (s *factScore) count(got, want string, right bool) {
	switch {
	case want == "" && got != "":
		s.extra++
	case want != "":
		s.gold++
		if got != "" {
			s.found++
		}
		if right {
			s.right++
		}
	}
}

func (s *factScore) String() string {
	return fmt.Sprintf("%5d right of %5d found (%5.1f%%) of %5d stated (%5.1f%%); %5d where none is stated",
		s.right, s.found, 100*float64(s.right)/float64(max(1, s.found)),
		s.gold, 100*float64(s.right)/float64(max(1, s.gold)), s.extra)
}

// sameWords reports whether two texts have the same words in any order, which also makes "B, Ann" the same as "Ann B".
func sameWords(a, b string) bool {
	x, y := words(a), words(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// sameDay reports whether two days differ by at most one: the time zone of the gold day is unknown.
func sameDay(a, b string) bool {
	x, err := time.Parse("2006-01-02", a)
	y, err2 := time.Parse("2006-01-02", b)
	return err == nil && err2 == nil && x.Sub(y).Abs() <= 24*time.Hour
}

// titleF1 is the F1 measure of the words of two titles.
func titleF1(got, want string) float64 {
	a, b := words(got), words(want)
	n := map[string]int{}
	for _, w := range a {
		n[w]++
	}
	both := 0
	for _, w := range b {
		if n[w] > 0 {
			n[w]--
			both++
		}
	}
	return 2 * float64(both) / float64(max(1, len(a)+len(b)))
}

// facts compares title, author and date of WCXB's pages in dir with the annotations of people, for each library.
// SHOW names the only library to run; then its wrong authors and dates are printed. An author is right
func facts(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no pages in %s: want WCXB's NNNN.html and NNNN.json", dir)
	}
	all := factReaders()
	show := os.Getenv("SHOW")
	if show != "" {
		all = slices.DeleteFunc(all, func(x factReader) bool { return x.name != show })
	}
	authors, dates := make([]factScore, len(all)), make([]factScore, len(all))
	titles, exact, took := make([]float64, len(all)), make([]int, len(all)), make([]time.Duration, len(all))
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(strings.TrimSuffix(name, ".html") + ".json")
		if err != nil {
			return err
		}
		var gold struct {
			URL         string `json:"url"`
			GroundTruth struct {
				Title  string `json:"title"`
				Author string `json:"author"`
				Date   string `json:"publish_date"`
			} `json:"ground_truth"`
		}
		if err := json.Unmarshal(text, &gold); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		at, err := url.Parse(gold.URL)
		if err != nil || at.Host == "" { // WCXB does not know the URLs of a few pages
			at = &url.URL{Scheme: "https", Host: strings.TrimSuffix(filepath.Base(name), ".html") + ".invalid", Path: "/"}
		}
		want := &gold.GroundTruth
		for i, x := range all {
			from := time.Now()
			got := x.read(body, at)
			took[i] += time.Since(from)
			titles[i] += titleF1(got.Title, want.Title)
			if sameWords(got.Title, want.Title) {
				exact[i]++
			}
			authors[i].count(got.Author, want.Author, sameWords(got.Author, want.Author))
			dates[i].count(got.Date, want.Date, sameDay(got.Date, want.Date))
			if show != "" {
				if want.Author != "" && !sameWords(got.Author, want.Author) {
					fmt.Printf("%s author %q want %q\n", filepath.Base(name), got.Author, want.Author)
				}
				if want.Date != "" && !sameDay(got.Date, want.Date) {
					fmt.Printf("%s date %q want %q\n", filepath.Base(name), got.Date, want.Date)
				}
			}
		}
	}
	for i, x := range all {
		n := float64(len(names))
		fmt.Printf("%-12s title  word F1 %.3f, the same words %.1f%%; %.2f ms a page\n", x.name, titles[i]/n,
			100*float64(exact[i])/n, float64(took[i].Microseconds())/1000/n)
		fmt.Printf("%-12s author %s\n%-12s date   %s\n", x.name, &authors[i], x.name, &dates[i])
	}
	return nil
}
