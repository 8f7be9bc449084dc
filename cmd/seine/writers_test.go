// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/policy"
)

// TestIndexLogin: user, password and key reach the engines that index-to names, for each command that sends, and no
// error or listing of settings shows them.
func TestIndexLogin(t *testing.T) {
	got := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		io.WriteString(w, "{}")
	}))
	defer s.Close()
	options := func(command uses, set ...string) ([]policy.IndexWriter, error) {
		f, cmd := &flags{}, &cobra.Command{Use: "test"}
		f.settings(cmd, command)
		f.set = set
		o, err := f.options(cmd)
		return o.IndexWriters, err
	}
	to := "index-to=opensearch=" + s.URL + "/pages"
	for _, command := range []uses{inCrawl, inIndex, inDelete, inPurge} {
		for set, want := range map[string]string{
			"index-login=crew:s3:cret": "Basic Y3JldzpzMzpjcmV0",
			"index-api-key=s3cret":     "ApiKey s3cret",
		} {
			list, err := options(command, to, set)
			if err != nil || len(list) != 1 {
				t.Fatal(set, err)
			}
			got = ""
			list[0].Write(context.Background(), nil)
			if err := list[0].Commit(context.Background()); err != nil || got != want {
				t.Errorf("%s: %q, %v", set, got, err)
			}
		}
	}
	for _, set := range []string{
		"index-to=opensearch=http://crew:s3cret@h.example/pages", "index-login=s3cret", "index-to=solr=//crew:s3cret@h",
		"index-to=jsonl=a,opensearch=https://crew:s3cret@h", "index-to=other=https://crew:s3cret@h/x",
	} {
		_, err := options(inIndex, set)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", set, err)
		}
	}
	var out bytes.Buffer
	c := &console{in: strings.NewReader(""), out: &out, err: &out}
	cmd := configCommand(c)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"--set", "index-login=crew:s3cret", "--set", "index-api-key=s3cret",
		"--set", "index-to=opensearch=https://crew:s3cret@h.example/pages"})
	if err := cmd.Execute(); err != nil || strings.Contains(out.String(), "s3cret") ||
		!strings.Contains(out.String(), "https://…@h.example/pages") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
