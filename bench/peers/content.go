// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability"
	"github.com/markusmobius/go-trafilatura"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

var word = regexp.MustCompile(`[\p{L}\p{N}_]+`)

func words(s string) []string { return word.FindAllString(strings.ToLower(s), -1) }

// extractor finds the main content of a page.
type extractor struct {
	name string
	text func(body []byte, at *url.URL) (string, error)
}

func extractors() []extractor {
	parsers := parse.New(parse.Options{})
	var page parse.Page
	return []extractor{
		{"seine", func(body []byte, at *url.URL) (string, error) {
			u, err := urlkey.Parse(at.String())
			if err != nil {
				return "", err
			}
			err = parsers.Parse(&parse.Input{URL: u, ContentType: "text/html", Body: body}, &page)
			return string(page.AppendContent(nil)), err
		}},
		{"readability", func(body []byte, at *url.URL) (string, error) {
			a, err := readability.FromReader(bytes.NewReader(body), at)
			return a.TextContent, err
		}},
		{"trafilatura", trafilaturaText(false)},
		{"trafilatura-fallback", trafilaturaText(true)},
	}
}

func trafilaturaText(fallback bool) func([]byte, *url.URL) (string, error) {
	return func(body []byte, at *url.URL) (string, error) {
		r, err := trafilatura.Extract(
			bytes.NewReader(body), trafilatura.Options{OriginalURL: at, EnableFallback: fallback},
		)
		if err != nil {
			return "", err
		}
		return r.ContentText, nil
	}
}

// contents prints the main content of WCXB's pages in dir according to each library, a line of JSON a page, for
// bench/training/content/train.py to compare. It is empty where a library fails.
func contents(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no pages in %s: want WCXB's NNNN.html and NNNN.json", dir)
	}
	out := json.NewEncoder(os.Stdout)
	all := extractors()
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
			URL string `json:"url"`
		}
		if err := json.Unmarshal(text, &gold); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		at, err := url.Parse(gold.URL)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line := struct {
			Name  string              `json:"name"`
			Words map[string][]string `json:"words"`
			Took  map[string]float64  `json:"ms"`
		}{filepath.Base(name), map[string][]string{}, map[string]float64{}}
		for _, x := range all {
			from := time.Now()
			text, err := x.text(body, at)
			line.Took[x.name] = float64(time.Since(from).Microseconds()) / 1000
			if err != nil {
				text = ""
			}
			line.Words[x.name] = words(text)
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
