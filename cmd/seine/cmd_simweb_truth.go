// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/simweb"
)

func simwebTruthCommand(c *console) *cobra.Command {
	var f simwebFlags
	var o struct {
		urls, edges, scores, json bool
		against                   string
	}
	cmd := &cobra.Command{
		Use:   "truth [URL…]",
		Short: "print what a polite crawl of a simweb must find",
		Long: "Walks the web that the flags describe, from the given URLs or from its seeds, as a polite\n" +
			"crawler would: it follows redirects and links without nofollow, and obeys robots.txt. Give the\n" +
			"--port of the server: it is part of each URL. --urls prints a line for each URL: the outcome, a\n" +
			"tab, the URL, and the target of a redirect or the original of a copy. --against compares with\n" +
			"the URLs that a crawler fetched: every word in FILE that begins with http:// or https://. Files\n" +
			"other than HTML may be missing, as many crawlers skip them.",
		RunE: func(cmd *cobra.Command, seeds []string) error {
			if err := f.checkTruth(cmd); err != nil {
				return err
			}
			site, err := f.site(cmd)
			if err != nil {
				return err
			}
			if site, err = simweb.OnPort(site, f.port); err != nil {
				return err
			}
			if len(seeds) == 0 {
				seeds = f.seeds(site)
			}
			t := truthTotals{site: site, json: o.json}
			if o.against != "" {
				if t.crawled, err = readURLs(o.against, c.in); err != nil {
					return err
				}
			}
			if err := c.lines(func(w *bufio.Writer) error {
				return simweb.WalkSite(cmd.Context(), site, seeds, func(v *simweb.SiteVisit) error {
					t.add(w, v)
					if o.urls {
						fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s\t%s\t%s", v.Outcome, v.URL, v.Detail), "\t"))
					}
					for _, to := range v.To {
						if o.edges {
							fmt.Fprintf(w, "edge\t%s\t%s\n", v.URL, to)
						}
					}
					return nil
				})
			}); err != nil {
				return err
			}
			if o.scores {
				if err := printScores(cmd, c, site, seeds); err != nil {
					return err
				}
			}
			return t.print(c)
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	fs.BoolVar(&o.urls, "urls", false, "print a line for each URL")
	fs.BoolVar(&o.edges, "edges", false, "print a line for each link that the walk follows")
	fs.BoolVar(&o.scores, "scores", false, "print the PageRank of each URL")
	fs.StringVar(&o.against, "against", "",
		"file of URLs that a crawler fetched (\"-\" for standard input): print what it missed and what it should not "+
			"have fetched")
	fs.BoolVar(&o.json, "json", false, "print the totals as JSON")
	return cmd
}

func printScores(cmd *cobra.Command, c *console, site simweb.Site, seeds []string) error {
	urls, ranks, err := simweb.Scores(cmd.Context(), site, seeds)
	if err != nil {
		return err
	}
	return c.lines(func(w *bufio.Writer) error {
		for i, u := range urls {
			fmt.Fprintf(w, "score\t%s\t%.6g\n", u, ranks[i])
		}
		return nil
	})
}

// truthTotals sums up a walk, and removes the URLs that it visits from crawled.
type truthTotals struct {
	site      simweb.Site
	json      bool
	outcomes  [len(simweb.Outcomes)]int
	pages     int
	edges     int
	broken    int
	crawled   map[string]int // URL → how often the file has it
	missing   int
	files     int // not HTML, and not fetched
	forbidden int
}

func (t *truthTotals) add(w io.Writer, v *simweb.SiteVisit) {
	t.pages++
	t.outcomes[v.Outcome]++
	t.edges += len(v.To)
	t.broken += v.Broken
	if t.crawled == nil {
		return
	}
	n, did := t.crawled[v.URL]
	delete(t.crawled, v.URL)
	switch ok := v.Outcome == simweb.OutcomeFetched || v.Outcome == simweb.OutcomeDuplicate; {
	case ok && !did && !v.HTML:
		t.files++
	case ok && !did:
		t.missing++
		t.differs(w, "missing", v.URL, "")
	case !ok && did:
		t.forbidden++
		t.differs(w, "unfetchable", v.URL, v.Outcome.String())
	case n > 1:
		t.differs(w, "twice", v.URL, "")
	}
}

// checkTruth returns an error if --json is given beside a flag for lines that it does not print, or a robots.txt by
// which the walk would not go: its outcomes would not be those of a polite crawl.
func (f *simwebFlags) checkTruth(cmd *cobra.Command) error {
	var robots error
	if f.robots != "" {
		robots = &usageError{errors.New("--docs-robots: truth does not know what a robots.txt of documents forbids: " +
			"leave it out, and compare with a crawl without it")}
	}
	return errors.Join(robots, together(cmd, "urls", "json"), together(cmd, "edges", "json"),
		together(cmd, "scores", "json"))
}

// crawlDifference is a URL in which the crawl differs from the truth.
type crawlDifference struct {
	Differs string `json:"differs"` // missing, unfetchable, twice or unknown
	URL     string `json:"url"`
	Outcome string `json:"outcome,omitempty"` // that an unfetchable one has
}

// differs prints a difference. What w cannot take, its end reports.
func (t *truthTotals) differs(w io.Writer, how, url, outcome string) {
	if t.json {
		_ = jsonLine(w, crawlDifference{how, url, outcome})
		return
	}
	fmt.Fprintln(w, strings.TrimRight(how+"\t"+url+"\t"+outcome, "\t"))
}

func (t *truthTotals) print(c *console) error {
	extra := len(t.crawled)
	for u := range t.crawled {
		t.differs(c.out, "unknown", u, "")
	}
	if err := t.totals(c, extra); err != nil || t.crawled == nil {
		return err
	}
	if t.missing+t.forbidden+extra > 0 {
		return fmt.Errorf("the crawl differs from the truth: %d missing, %d unfetchable, %d unknown",
			t.missing, t.forbidden, extra)
	}
	return nil
}

// totals prints the sums; extra is the number of URLs that the web does not have.
func (t *truthTotals) totals(c *console, extra int) error {
	if t.json {
		r := map[string]any{"urls": t.pages, "edges": t.edges, "broken": t.broken}
		for i, n := range t.outcomes {
			r[simweb.Outcome(i).String()] = n
		}
		if t.crawled != nil {
			r["missing"], r["files_left_out"], r["unfetchable"], r["unknown"] = t.missing, t.files, t.forbidden, extra
		}
		return c.object(r)
	}
	var parts []string
	for i, n := range t.outcomes {
		parts = append(parts, fmt.Sprintf("%d %s", n, simweb.Outcome(i)))
	}
	_, err := fmt.Fprintf(c.out, "truth: %d URLs: %s; %d links and redirects followed, "+
		"%d of them to pages that are gone\n", t.pages, strings.Join(parts, ", "), t.edges, t.broken)
	if err != nil || t.crawled == nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "truth: the crawl missed %d pages, left out %d files that are not HTML, "+
		"fetched %d URLs that cannot be fetched and %d that do not exist\n", t.missing, t.files, t.forbidden, extra)
	return err
}

// readURLs counts the words of a file that are http or https URLs; "-" reads in.
func readURLs(name string, in io.Reader) (map[string]int, error) {
	r := in
	if name != "-" {
		if err := readable(name); err != nil {
			return nil, &usageError{fmt.Errorf("--against: %w", fileError(name, err))}
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		defer f.Close()
		r = f
	}
	urls := map[string]int{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	s.Split(bufio.ScanWords)
	for s.Scan() {
		word := strings.TrimPrefix(s.Text(), "\ufeff") // editors of Windows begin files so
		if strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") {
			urls[word]++
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("--against %s: %w", name, err)
	}
	return urls, nil
}
