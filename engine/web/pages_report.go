// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// reportView is a report as a table.
type reportView struct {
	Kind    engine.ReportKind
	Kinds   []choice
	Columns []column
	Rows    [][]reportCell
	More    bool
}

type reportCell struct {
	Name       string // of the column
	Text, Link string
	Number     bool
	Value      float64 // of a number
}

// reportTitles say what the reports are about.
var reportTitles = map[engine.ReportKind]string{
	engine.ReportSeeds: "What became of the seeds", engine.ReportHosts: "The hosts with the most URLs",
	engine.ReportDomains: "Hosts by registered domain", engine.ReportSuffixes: "Hosts by public suffix",
	engine.ReportTLDs: "Hosts by top-level domain", engine.ReportProtocols: "By what servers answered",
	engine.ReportComplete: "How much of each host is fetched",
	engine.ReportTypes:    "What was captured, by media type", engine.ReportStatuses: "What servers answered",
	engine.ReportFailures: "Why URLs have no page",
	engine.ReportTraps:    "Places that show the same pages under many URLs",
}

// reportMost is the number of rows that the page of a report shows.
const reportMost = 500

// reportPage shows a report: GET /report/{kind}?by=…&down=1.
func (h *Handler) reportPage(w http.ResponseWriter, r *http.Request) {
	kind := engine.ReportKind(r.PathValue("kind"))
	p := &page{Room: "crawl", Title: "Report: " + string(kind), base: h.o.Prefix}
	if !slices.Contains(engine.ReportKinds(), kind) {
		h.fail(w, http.StatusNotFound, p.Room, "There is no report of this name.", "")
		return
	}
	v := &reportView{Kind: kind}
	for _, k := range engine.ReportKinds() {
		v.Kinds = append(v.Kinds, choice{string(k), p.Path("/report/" + string(k)), k == kind})
	}
	columns := engine.ReportColumns(kind)
	for row, err := range h.e.Inspect().Report(r.Context(), kind, reportMost+1) {
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
		if v.More = len(v.Rows) == reportMost; v.More {
			break
		}
		v.Rows = append(v.Rows, cellsOf(p, columns, row.Cells()))
	}
	v.sort(p, columns, r.URL.Query().Get("by"), r.URL.Query().Get("down") != "")
	p.Body = v
	h.show(w, http.StatusOK, "report", p)
}

// sort puts the rows in the order of a column, and makes the heads of all: that of this column turns the order round.
func (v *reportView) sort(p *page, columns []string, by string, down bool) {
	for i, name := range columns {
		c := column{Name: columnName(name)}
		c.Number = len(v.Rows) > 0 && v.Rows[0][i].Number
		c.Address = p.Path("/report/"+string(v.Kind), "by", name, "down", name == by && !down)
		if name == by {
			sortRows(v.Rows, i, down)
			c.Sort = map[bool]string{true: "descending", false: "ascending"}[c.Number != down]
		}
		v.Columns = append(v.Columns, c)
	}
}

// columnName is the name of a column as people read it.
func columnName(name string) string {
	list := strings.Split(strings.TrimSuffix(name, "_ms"), "_")
	for i, word := range list {
		switch word {
		case "url", "http":
			list[i] = strings.ToUpper(word)
		case "urls":
			list[i] = "URLs"
		default:
			if i == 0 {
				list[i] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
	}
	return strings.Join(list, " ")
}

// cellsOf makes cells of texts, by the names of their columns.
func cellsOf(p *page, columns, texts []string) []reportCell {
	cells := make([]reportCell, len(texts))
	for i, text := range texts {
		c := reportCell{Name: columnName(columns[i]), Text: clean(text, addressShown)}
		switch columns[i] {
		case "url", "redirect", "newest_url":
			if text != "" {
				c.Text, c.Link = shownURL(text), p.Path("/url", "url", text)
			}
		case "host":
			c.Text, c.Link = shownHost(text), p.Path("/host", "host", text)
		case "status":
			c.Link = p.Path("/urls", "status", text)
		case "last_fetch", "newest", "next_due":
			if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
				c.Text = exactText(t)
			}
		case "bytes", "warc_bytes":
			var n uint64
			_, _ = fmt.Sscan(text, &n) // 0 of what is no number
			c.Text, c.Number, c.Value = byteText(n), true, float64(n)
		case "took_ms", "p50_ms", "p90_ms", "p99_ms":
			var n int64
			_, _ = fmt.Sscan(text, &n) // 0 of what is no number
			c.Text, c.Number, c.Value = spanText(time.Duration(n)*time.Millisecond), true, float64(n)
		case "score", "percent":
			c.Number = true
			_, _ = fmt.Sscan(text, &c.Value) // 0 of what is no number
		case "http_status":
			c.Number = true
			_, _ = fmt.Sscan(text, &c.Value)
			if text == "0" {
				c.Text = ""
			}
		case "failure", "answer", "meaning", "media_type", "prefix", "closed", "name", "protocol", "version":
		default:
			c.Text, c.Number = numberText(text), true
			_, _ = fmt.Sscan(text, &c.Value)
		}
		cells[i] = c
	}
	return cells
}
