// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/seine-crawler/seine/engine/policy"
)

// Options are how a writer proves who it is. A user and password in the URL take precedence.
type Options struct {
	User, Password string // basic authentication
	APIKey         string // sent as "Authorization: ApiKey …", in place of a user
}

// Parse makes a writer of KIND=WHERE:
//
//	opensearch=http://HOST:9200/INDEX    OpenSearch; "elasticsearch" is another name of it
//	solr=http://HOST:8983/solr/CORE      Solr
//	jsonl=FILE                           JSON Lines, appended to a file
//
// KIND+gzip compresses requests: OpenSearch takes that, Solr only if its Jetty is configured to. Errors have no
// password.
func Parse(text string, o Options) (policy.IndexWriter, error) {
	kind, where, ok := strings.Cut(text, "=")
	if !ok {
		return nil, errors.New("want opensearch=URL, solr=URL or jsonl=FILE")
	}
	kind, compress := strings.CutSuffix(kind, "+gzip")
	if kind == "jsonl" && !compress {
		return newJSONLines(where)
	}
	if kind == "elasticsearch" {
		kind = "opensearch"
	}
	if kind != "opensearch" && kind != "solr" {
		return nil, fmt.Errorf("there is no writer %q: want opensearch=URL, solr=URL or jsonl=FILE", kind)
	}
	base, err := url.Parse(where)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("want a URL such as http://HOST:PORT/NAME, without a query")
	}
	l := login{o.User, o.Password, o.APIKey}
	plain := *base
	plain.User, plain.Path, plain.RawPath = nil, strings.TrimRight(base.Path, "/"), ""
	name := kind + "=" + plain.String()
	if kind == "solr" {
		return newSolr(name, base, l, compress)
	}
	return newOpenSearch(name, base, l, compress)
}

// Redact returns the text for Parse without user and password, also if it lacks the kind.
func Redact(text string) string {
	kind, where, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(kind, ":/@") { // the = is of the address
		kind, where = "", text
	}
	at := strings.LastIndexByte(where, '@')
	if at < 0 || kind == "jsonl" {
		return text
	}
	scheme := ""
	if end := strings.Index(where, "://"); end >= 0 && end < at {
		scheme = where[:end+3]
	}
	return text[:len(text)-len(where)] + scheme + "…@" + where[at+1:]
}
