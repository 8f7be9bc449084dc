// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// endless is a transport that answers when its context ends.
type endless struct{}

func (endless) Fetch(ctx context.Context, _ *fetch.Request) *fetch.Response {
	<-ctx.Done()
	return &fetch.Response{Failure: fetch.FailReset, Err: ctx.Err()}
}

// TestCheckedTimeout: the context of a transport ends after the timeout, or after that of the request.
func TestCheckedTimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // so that it ends in any case
	defer cancel()
	for _, way := range []struct{ timeout, request time.Duration }{
		{time.Millisecond, 0}, {time.Hour, time.Millisecond},
	} {
		p := fetch.Checked(endless{}, way.timeout, time.Now)
		r := p.Fetch(ctx, &fetch.Request{Timeout: way.request})
		if ctx.Err() != nil || r.Failure != fetch.FailReset {
			t.Errorf("timeout %s, of the request %s: %+v", way.timeout, way.request, r)
		}
		r.Release()
	}
}

// failing is a Protocol whose exchanges all fail in the same way.
type failing fetch.Failure

func (f failing) Fetch(context.Context, *fetch.Request) *fetch.Response {
	return &fetch.Response{Failure: fetch.Failure(f)}
}

// TestCheckedFailures: each failure of this package passes, and any other name becomes one of them: what a protocol
// calls its failure may be the name of another outcome.
func TestCheckedFailures(t *testing.T) {
	ask := func(f string) *fetch.Response {
		return fetch.Checked(failing(f), time.Minute, time.Now).Fetch(t.Context(), &fetch.Request{})
	}
	file, err := parser.ParseFile(token.NewFileSet(), "failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Fail") {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if r := ask(name); err != nil || string(r.Failure) != name {
			t.Errorf("%q became %q: %v", name, r.Failure, err)
		}
		seen++
		return true
	})
	if seen < 30 {
		t.Errorf("%d failures", seen)
	}
	for _, name := range []string{"robots_denied", "http_503", "no route to 10.0.0.1: try 7"} {
		if r := ask(name); r.Failure != fetch.FailReset || r.Err == nil || !strings.Contains(r.Err.Error(), name) {
			t.Errorf("%q became %q: %v", name, r.Failure, r.Err)
		}
	}
}
