// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestValidate: a fault names its field, the rule says what is expected, and all faults are reported together.
func TestValidate(t *testing.T) {
	for field, c := range map[string]struct {
		o    engine.Options
		rule string
	}{
		"Memory":         {engine.Options{Memory: 1 << 20}, "want 64MB or more"},
		"URLLength":      {engine.Options{URLLength: -1}, "want 0 or more"},
		"Signature":      {engine.Options{Signature: "crc"}, "want content, text"},
		"ParseLater":     {engine.Options{ParseLater: true, NoContent: true}, "it contradicts storing no content"},
		"PageWorkers":    {engine.Options{PageWorkers: -1}, "want 0"},
		"MaxInterval":    {engine.Options{MaxInterval: 1}, "want 1s to"},
		"Interval":       {engine.Options{Interval: 1e6 * time.Hour}, "which is 2160h"},
		"DedupOrder":     {engine.Options{DedupOrder: "age"}, `unknown key "age": choose from score`},
		"Scope":          {engine.Options{Scope: 99}, "want one of [page prefix host domain any]"},
		"UserAgent":      {engine.Options{UserAgent: "a\nb"}, "want printable ASCII only"},
		"Contact":        {engine.Options{Contact: "me"}, "want a URL such as"},
		"Proxy":          {engine.Options{Proxy: "http://u:hunter2@h:0"}, "port out of range: want http://[user"},
		"RefuseTypes":    {engine.Options{RefuseTypes: []string{"a/b", "pdf"}}, `"pdf" is no media type`},
		"Concurrency":    {engine.Options{Concurrency: 1e6}, "want 1 to 100000"},
		"Processors":     {engine.Options{Processors: -1}, "want 1 to 10000"},
		"PerHost":        {engine.Options{PerHost: 65}, "want 1 to 64"},
		"MaxInlinks":     {engine.Options{MaxInlinks: 10_001}, "want 1 to 10000"},
		"AnchorLength":   {engine.Options{AnchorLength: -1}, "want 1 to 256"},
		"MaxDepth":       {engine.Options{MaxDepth: 65_001}, "want 0 to 65000"},
		"MaxRedirects":   {engine.Options{MaxRedirects: 61}, "want 0 to 60"},
		"TrapDuplicates": {engine.Options{TrapDuplicates: 101}, "want a percentage"},
		"HostBytes":      {engine.Options{HostBytes: -1}, "want 0 (no bound)"},
		"DomainTime":     {engine.Options{DomainTime: -1}, "want 0 (no bound)"},
		"FetchTimeout":   {engine.Options{FetchTimeout: -1}, "want 0 (60s)"},
		"GoneUnlinked":   {engine.Options{GoneUnlinked: -1}, "want 0 (never)"},
		"OrphanUnlinked": {engine.Options{OrphanUnlinked: -1}, "want 0 (never)"},
		"Normalizers":    {engine.Options{Normalizers: policy.URLNormalizers{nil}}, "is nil"},
		"Filters":        {engine.Options{Filters: policy.URLFilters{nil}}, "is nil"},
		"LiveFilters":    {engine.Options{LiveFilters: []policy.LiveFilter{nil}}, "is nil"},
		"IndexFilters":   {engine.Options{IndexFilters: []policy.IndexFilter{nil}}, "is nil"},
		"IndexWriters":   {engine.Options{IndexWriters: []policy.IndexWriter{nil}}, "is nil"},
		"Parsers":        {engine.Options{Parsers: parse.Options{Filters: []parse.Filter{nil}}}, "is nil"},
		"NormalizerScopes": {engine.Options{NormalizerScopes: policy.NormalizerScopes{
			policy.NormalizeInject: {nil},
		}}, "is nil"},
	} {
		if _, ok := reflect.TypeFor[engine.Options]().FieldByName(field); !ok {
			t.Errorf("there is no field %s", field)
		}
		c.o.Dir = "d"
		err := c.o.Validate()
		var fault *engine.OptionError
		if !errors.As(err, &fault) || fault.Field != field || !strings.Contains(fault.Rule, c.rule) ||
			strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", field, err, c.rule)
		}
	}
	for _, one := range []string{"*/*", "*/html", "text/**", "application/*+xml", "*"} {
		if err := (engine.Options{Dir: "d", RefuseTypes: []string{one}}).Validate(); err == nil {
			t.Errorf("%s is a media type", one)
		}
	}
	err := engine.Options{Memory: 1, PerHost: 99}.Validate()
	for _, field := range []string{"Dir", "Memory", "PerHost"} {
		if !strings.Contains(err.Error(), field+" ") {
			t.Errorf("%v, want %s in it", err, field)
		}
	}
	for _, contact := range []string{"", "a@b.example", "mailto:a@b.example", "https://a.example/crawler"} {
		if err := (engine.Options{Dir: "d", Contact: contact}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, contact := range []string{"a b@c.example", "@b", "a@", "http:///x", "ftp://a.example/", "ü@b.example"} {
		if err := (engine.Options{Dir: "d", Contact: contact}).Validate(); err == nil {
			t.Errorf("%q is a contact", contact)
		}
	}
}

// TestCallOptions: what a call is given and cannot mean is refused, with its name.
func TestCallOptions(t *testing.T) {
	t.Parallel()
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	ctx := t.Context()
	crawl := func(o engine.CrawlOptions) error { _, err := e.Crawl(ctx, o); return err }
	fetch := func(o engine.FetchOptions) error { _, err := e.Fetch(ctx, o); return err }
	index := func(o engine.IndexOptions) error { _, err := e.Index(ctx, o); return err }
	for name, err := range map[string]error{
		"MaxPages -1":       crawl(engine.CrawlOptions{Limits: engine.Limits{MaxPages: -1}}),
		"Patience -1s":      crawl(engine.CrawlOptions{Patience: -time.Second}),
		"ProgressEvery -2s": crawl(engine.CrawlOptions{ProgressEvery: -2 * time.Second}),
		"MaxBytes -1":       fetch(engine.FetchOptions{Limits: engine.Limits{MaxBytes: -1}}),
		"Patience -3s":      fetch(engine.FetchOptions{Patience: -3 * time.Second}),
		"MaxSegments -1":    index(engine.IndexOptions{MaxSegments: -1}),
		"MaxSegments -2":    index(engine.IndexOptions{MaxSegments: -2, MergeOnly: true}),
		"no Segments":       index(engine.IndexOptions{MergeOnly: true, Resend: true}),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
