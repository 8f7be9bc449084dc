// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

const smallEdges = "# from to\n0\t1\n0\t2\n1\t2\n2\t0\n3\t2\n4\t3\n4\t5\n5\t4\n5\t6\n7\t0\n1\t7\n1\t7\n"

func readGraph(t *testing.T, edges string, o GraphOptions) *Graph {
	t.Helper()
	g, err := ReadGraph(strings.NewReader(edges), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var hrefPattern = regexp.MustCompile(`<li><a href="([^"]*)">`)

// TestGraph: every node is a page that answers with exactly its edges as links, on hosts that are runs of nodes; any
// other page is a 404.
func TestGraph(t *testing.T) {
	g := readGraph(t, smallEdges, GraphOptions{MeanPages: 3})
	if g.Nodes() != 8 || g.Edges() != 11 || g.Hosts() < 2 {
		t.Fatalf("%d nodes, %d edges, %d hosts", g.Nodes(), g.Edges(), g.Hosts())
	}
	s, err := Serve(context.Background(), g, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	served := s.Site().(*Graph)
	get := func(u string) (int, string) {
		t.Helper()
		rest := strings.TrimPrefix(u, "http://")
		name, path, _ := strings.Cut(rest, "/")
		host := served.find([]byte(name[:strings.IndexByte(name, ':')]))
		req, err := http.NewRequest("GET", fmt.Sprintf("http://%s:%d/%s", served.Address(host), s.Port(), path), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Close = name, true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	for node := range served.Nodes() {
		u := served.URL(node)
		status, body := get(u)
		var got []int
		for _, m := range hrefPattern.FindAllStringSubmatch(body, -1) {
			href := m[1]
			if strings.HasPrefix(href, "/") {
				href = strings.TrimSuffix(served.Root(served.HostOf(node)), "/") + href
			}
			to, ok := served.Find(href)
			if !ok {
				t.Errorf("%s links to %s, which is no node", u, href)
			}
			got = append(got, to)
		}
		var want []int
		for _, to := range served.Links(node) {
			want = append(want, int(to))
		}
		if status != 200 || !slices.Equal(got, want) {
			t.Errorf("%s: %d, links %v, want %v", u, status, got, want)
		}
	}
	if status, _ := get(served.Root(0) + "99.html"); status != 404 {
		t.Errorf("a node that is not there: %d", status)
	}
}

// TestGraphErrors: an error names the line that cannot be read; compressed files are recognized by their names.
func TestGraphErrors(t *testing.T) {
	for edges, want := range map[string]string{
		"": "no edge", "0\t1\n2\n": "line 2", "0 x\n": `"x"`, "0 -1\n": "line 1",
		"0 4294967296\n": "4294967296",
	} {
		if _, err := ReadGraph(strings.NewReader(edges), GraphOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", edges, err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "g.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := io.WriteString(z, smallEdges); err != nil {
		t.Fatal(err)
	}
	z.Close()
	f.Close()
	if g, err := LoadGraph(name, GraphOptions{}); err != nil || g.Edges() != 11 {
		t.Errorf("%v", err)
	}
	if _, err := LoadGraph(name+"x", GraphOptions{}); err == nil || !strings.Contains(err.Error(), name+"x") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestScores: PageRank of the reachable pages is the same as from networkx 3.6.1 (alpha 0.85, tol 1e-14).
func TestScores(t *testing.T) {
	g := readGraph(t, smallEdges, GraphOptions{MeanPages: 3})
	urls, ranks, err := Scores(context.Background(), g, []string{g.URL(5)})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0.324454494, 0.160893160, 0.263272753, 0.04, 0.04, 0.04, 0.04, 0.091379593}
	if len(urls) != len(want) {
		t.Fatalf("%d URLs", len(urls))
	}
	for i, u := range urls {
		node, _ := g.Find(u)
		if math.Abs(ranks[i]-want[node]) > 1e-8 {
			t.Errorf("node %d: %.9f, want %.9f", node, ranks[i], want[node])
		}
	}
	// Of a synthetic web: they add up to 1, and are a fixed point.
	w := newWeb(t, Small())
	urls, ranks, err = Scores(context.Background(), w, []string{w.Root(0)})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, r := range ranks {
		sum += r
	}
	if math.Abs(sum-1) > 1e-9 || len(urls) < 1000 {
		t.Errorf("%d ranks add up to %v", len(urls), sum)
	}
	if _, _, err := Scores(context.Background(), w, []string{"http://nowhere.example/"}); err == nil {
		t.Error("a seed that is no page gave scores")
	}
}

// TestRealGraph: cnr-2000 has as many nodes and edges as its publishers say (Boldi and Vigna 2004).
func TestRealGraph(t *testing.T) {
	data := os.Getenv("SEINE_CONFORMANCE_DATA")
	if data == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: no real link graph here")
	}
	g, err := LoadGraph(filepath.Join(data, "graph", "cnr-2000-edges.txt.xz"), GraphOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Nodes() != 325557 || g.Edges() != 3216152 {
		t.Errorf("%d nodes, %d edges", g.Nodes(), g.Edges())
	}
	if mean := float64(g.Nodes()) / float64(g.Hosts()); mean < 60 || mean > 160 {
		t.Errorf("%.0f pages a host, want about 100", mean)
	}
}
