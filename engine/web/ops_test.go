// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// knownMetrics are the labels of all metrics by their names, with those that a histogram has, and Prometheus's own.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	families, err := fullRegistry().Gather()
	must(t, err)
	known := map[string][]string{"up": nil}
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		known[f.GetName()] = labels
		if f.GetType().String() == "HISTOGRAM" {
			known[f.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
			known[f.GetName()+"_sum"], known[f.GetName()+"_count"] = labels, labels
		}
	}
	return known
}

var (
	// quotedText is a string of PromQL, rangeText a range of time.
	quotedText  = regexp.MustCompile(`"[^"]*"`)
	rangeText   = regexp.MustCompile(`\[[^\]]*\]`)
	grouping    = regexp.MustCompile(`\b(by|on) \(([^)]*)\)`)
	selector    = regexp.MustCompile(`([a-z_]+)?\{([^}]*)\}`)
	matcherName = regexp.MustCompile(`([a-z_]+)\s*[!=]`)
	word        = regexp.MustCompile(`[a-z_][a-z0-9_]*`)
)

// promWords are the functions and operators that the rules use.
var promWords = []string{"sum", "rate", "increase", "histogram_quantile", "predict_linear", "and"}

// checkExpression checks an expression of PromQL: its parentheses, and that it names metrics and labels that exist.
// It is no parser: Prometheus's own read the rules when they were written.
func checkExpression(t *testing.T, known map[string][]string, where, text string) {
	t.Helper()
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) {
			t.Errorf("%s: %q: %s are not balanced", where, text, pair)
		}
	}
	bare := rangeText.ReplaceAllString(quotedText.ReplaceAllString(text, `""`), "")
	var labels, metrics []string
	for _, m := range grouping.FindAllStringSubmatch(bare, -1) {
		labels = append(labels, strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	bare = grouping.ReplaceAllString(bare, " ")
	for _, m := range selector.FindAllStringSubmatch(bare, -1) {
		if _, ok := known[m[1]]; !ok {
			t.Errorf("%s: %q selects of %q, which is no metric", where, text, m[1])
		}
		for _, l := range matcherName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(known[m[1]], l[1]) && l[1] != "job" && l[1] != "instance" {
				t.Errorf("%s: %q: %s has no label %q", where, text, m[1], l[1])
			}
		}
	}
	bare = selector.ReplaceAllString(bare, " $1 ")
	for _, w := range word.FindAllString(bare, -1) {
		if _, ok := known[w]; ok {
			metrics = append(metrics, w)
		} else if !slices.Contains(promWords, w) {
			t.Errorf("%s: %q names %q, which is no metric: metrics.go has them", where, text, w)
		}
	}
	if len(metrics) == 0 {
		t.Errorf("%s: %q names no metric", where, text)
	}
	for _, l := range labels {
		has := func(m string) bool { return slices.Contains(known[m], l) }
		if l != "job" && l != "instance" && !slices.ContainsFunc(metrics, has) {
			t.Errorf("%s: %q groups by %q, which no metric of it has", where, text, l)
		}
	}
}

// TestDashboard: every panel of Grafana's dashboard shows metrics that exist, and says what they are.
func TestDashboard(t *testing.T) {
	s := newSite(t)
	known := knownMetrics(t)
	status, text := s.get("/ops/grafana.json")
	var dashboard struct {
		Title  string `json:"title"`
		Panels []struct {
			ID          int    `json:"id"`
			Title       string `json:"title"`
			Description string `json:"description"`
			GridPos     struct{ X, Y, W, H int }
			FieldConfig struct {
				Defaults struct {
					Unit string `json:"unit"`
				} `json:"defaults"`
			} `json:"fieldConfig"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(text), &dashboard); status != 200 || err != nil || len(dashboard.Panels) < 10 {
		t.Fatalf("status %d, %v, %d panels", status, err, len(dashboard.Panels))
	}
	taken := map[[2]int]string{}
	for i, p := range dashboard.Panels {
		if p.ID != i+1 || p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" ||
			len(p.Targets) == 0 {
			t.Errorf("panel %d (%s) lacks an identifier, a description, a unit or a target", p.ID, p.Title)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %s lies on %s, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			checkExpression(t, known, p.Title, target.Expr)
		}
	}
}

// TestAlertRules: every rule watches metrics that exist, and says what to do.
func TestAlertRules(t *testing.T) {
	s := newSite(t)
	known := knownMetrics(t)
	status, text := s.get("/ops/alerts.yml")
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	if status, _ := s.get("/ops/other"); status != 404 {
		t.Errorf("another file: status %d", status)
	}
	_, rules, ok := strings.Cut(text, "    rules:\n")
	if !ok {
		t.Fatal("no rules")
	}
	names := map[string]bool{}
	for _, rule := range strings.Split(rules, "      - alert: ")[1:] {
		name, rest, _ := strings.Cut(rule, "\n")
		fields := map[string]string{}
		for line := range strings.Lines(rest) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if ok {
				fields[key] = strings.TrimSpace(value)
			} else if key != "annotations:" {
				t.Errorf("%s: what is %q?", name, line)
			}
		}
		if names[name] || !strings.HasPrefix(name, "Seine") {
			t.Errorf("%s: twice, or no name of ours", name)
		}
		names[name] = true
		if l := fields["labels"]; l != "{severity: broken}" && l != "{severity: look}" {
			t.Errorf("%s: labels %s: want a severity, as alerts of the dashboard have", name, l)
		}
		if !strings.Contains(fields["summary"], "$labels.instance") || strings.Count(fields["description"], " ") < 8 {
			t.Errorf("%s: the summary must name the instance, the description say what to do: %v", name, fields)
		}
		for _, key := range []string{"summary", "description"} {
			if v := fields[key]; len(v) < 2 || v[0] != '"' || strings.Count(v, `"`) != 2 || v[len(v)-1] != '"' {
				t.Errorf("%s: %s is no quoted text: %s", name, key, v)
			}
		}
		checkExpression(t, known, name, fields["expr"])
	}
	if len(names) < 7 {
		t.Errorf("only %d alerts", len(names))
	}
}
