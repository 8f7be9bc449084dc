// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/content"
	"github.com/seine-crawler/seine/storage/urlkey"
)

type page struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Gold     []string    `json:"gold"`
	Blocks   [][]string  `json:"blocks"`
	Groups   []int       `json:"groups"`   // of each block
	Features [][]float32 `json:"features"` // of each group
	Page     []float32   `json:"page"`     // features
	Site     string      `json:"site"`     // registered domain
}

var word = regexp.MustCompile(`[\p{L}\p{N}_]+`)

func words(s string) []string { return word.FindAllString(strings.ToLower(s), -1) }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: content FOLDER   (with WCXB's NNNN.html and NNNN.json)")
		os.Exit(2)
	}
	if err := dump(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dump(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	out := json.NewEncoder(w)
	var p parse.Page
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
				MainContent string `json:"main_content"`
			} `json:"ground_truth"`
			Internal struct {
				PageType struct {
					Primary string `json:"primary"`
				} `json:"page_type"`
			} `json:"_internal"`
		}
		if err := json.Unmarshal(text, &gold); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if gold.URL == "" { // of eight pages WCXB does not know it
			gold.URL = "https://" + strings.TrimSuffix(filepath.Base(name), ".html") + ".invalid/"
		}
		u, err := urlkey.Parse(gold.URL)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line := page{
			Name: filepath.Base(name), Type: gold.Internal.PageType.Primary,
			Gold: words(gold.GroundTruth.MainContent), Blocks: [][]string{}, Features: [][]float32{},
			Site: u.HostKey().Domain(),
		}
		parse.Outline(&parse.Input{URL: u, ContentType: "text/html", Body: body}, &p, func(o *content.Outline) {
			line.Features, line.Groups = o.Features()
			line.Page = append([]float32{}, o.Page()...) // never null: the same page has the same line in each run
			for _, b := range o.Blocks() {
				line.Blocks = append(line.Blocks, words(string(p.Text[b.From:b.To])))
			}
		})
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return w.Flush()
}
