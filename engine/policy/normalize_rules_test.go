// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// normalizes checks the results for URLs ("": dropped), and the law of normalizers.
func normalizes(t *testing.T, n policy.URLNormalizer, cases map[string]string) {
	t.Helper()
	var kept []string
	for from, to := range cases {
		u, err := urlkey.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.Normalize(u)
		if to == "" {
			if err == nil {
				t.Errorf("%s: %s, want an error", from, got)
			}
			continue
		}
		kept = append(kept, from)
		if err != nil || got.String() != to {
			t.Errorf("%s: %s, want %s, %v", from, got, to, err)
		}
	}
	policytest.URLNormalizer(t, n, kept)
}

// nutchSubstitutions are those of the regex-normalize.xml that comes with Nutch.
const nutchSubstitutions = `<?xml version="1.0"?>
<regex-normalize>
<!-- session ids -->
<regex><pattern>(?i)(;?\b_?(l|j|bv_)?(sid|phpsessid|sessionid)=.*?)(\?|&amp;|#|$)</pattern>
<substitution>$4</substitution></regex>
<regex><pattern>#.*?(\?|&amp;|$)</pattern><substitution>$1</substitution></regex>
<regex><pattern>\?&amp;</pattern><substitution>\?</substitution></regex>
<regex><pattern>&amp;{2,}</pattern><substitution>&amp;</substitution></regex>
<regex><pattern>[\?&amp;\.]$</pattern><substitution></substitution></regex>
<regex><pattern>^file://+</pattern><substitution>file:/</substitution></regex>
<regex><pattern>(?&lt;!:)/{2,}</pattern><substitution>/</substitution></regex>
</regex-normalize>`

func TestRegexNormalizer(t *testing.T) {
	normalizes(t, must(policy.ParseSubstitutions([]byte(nutchSubstitutions)))(t), map[string]string{
		"http://a.example/x?a=1":                                  "http://a.example/x?a=1",
		"http://a.example/x?sid=1234&a=1":                         "http://a.example/x?a=1",
		"http://a.example/x;jsessionid=1F?a=1":                    "http://a.example/x?a=1",
		"http://a.example/x?a=1&PHPSESSID=0":                      "http://a.example/x?a=1",
		"http://a.example/x?&&a=1&&&b":                            "http://a.example/x?a=1&b",
		"http://a.example//x///y?u=http://b.example//z":           "http://a.example/x/y?u=http://b.example/z",
		"http://a.example/x.?":                                    "http://a.example/x",
		"http://a.example/x?a=1#f":                                "http://a.example/x?a=1",
		"https://a.example:8080/" + strings.Repeat("/", 50) + "x": "https://a.example:8080/x",
	})
	n := must(policy.ParseSubstitutions([]byte(`<regex-normalize>
		<regex><pattern>^http://www\.(.*)</pattern><substitution>http://$1</substitution></regex>
		<regex><pattern>x</pattern><substitution>xx</substitution></regex>
		<regex><pattern>^(.*/)kill$</pattern><substitution>nothing:$1</substitution></regex>
		</regex-normalize>`)))(t)
	normalizes(t, n, map[string]string{
		"http://www.a.org/": "http://a.org/", "http://a.org/x": "", "http://a.org/kill": "",
	})
}

func TestFaultySubstitutions(t *testing.T) {
	substitutions := parser(policy.ParseSubstitutions)
	fails(t, substitutions, "", "line 1, column ", "regex-normalize")
	fails(t, substitutions, "<a/>", "regex-normalize")
	const latin = "<?xml version='1.0' encoding='ISO-8859-1'?><regex-normalize/>"
	fails(t, substitutions, latin, "the file is in ISO-8859-1: save it in UTF-8")
	fails(t, substitutions, "<regex-normalize>\n<regex></regex-normalize>", "line 2, column ")
	fails(t, substitutions, `<regex-normalize>
		<regex><pattern>a</pattern></regex>
		<regex><pattern>(?=b)</pattern></regex>
		<regex><pattern>(a)</pattern><substitution>$2</substitution></regex>
		</regex-normalize>`, "rule 2: ", "lookaround", "rule 3: ", "names a group")
	fails(t, substitutions, strings.Repeat(" ", 16<<20+1), "at most 16777216")
}

func TestSiteNormalizer(t *testing.T) {
	n := must(policy.ParseSiteRules(policy.SiteRules{
		HostAliases: []byte("www.a.example a.example # the old name\n\n*.mirror.example main.example\n" +
			"own.mirror.example own.example\nx.example y.example\ny.example z.example\n"),
		Protocols: []byte("a.example https\n*.b.example http\n"),
		Slashes:   []byte("a.example -\nb.example +\n"),
	}))(t)
	normalizes(t, n, map[string]string{
		"http://www.a.example/x/?q=1":   "https://a.example/x?q=1",
		"http://www.a.example:8080/x//": "http://a.example:8080/x",
		"http://a.example/":             "https://a.example/",
		"http://mirror.example/":        "http://main.example/",
		"http://de.mirror.example/?":    "http://main.example/?",
		"http://own.mirror.example/":    "http://own.example/",
		"https://sub.b.example/x":       "http://sub.b.example/x",
		"https://b.example/x":           "http://b.example/x/",
		"https://b.example/x.html":      "http://b.example/x.html",
		"http://other.example/x/":       "http://other.example/x/",
		"http://x.example/":             "",
	})
	normalizes(t, must(policy.ParseSiteRules(policy.SiteRules{}))(t), map[string]string{"http://a/x/": "http://a/x/"})
	_, err := policy.ParseSiteRules(policy.SiteRules{
		HostAliases: []byte("a.example b.example\na.example http://b.example/\n"),
		Protocols:   []byte("a.example ftp\n"),
		Slashes:     []byte("a.example - +\n"),
	})
	fails(t, func(string) error { return err }, "",
		"host aliases: line 2: ", "protocols: line 1: ", "http or https", "slashes: line 1: ", "+ or -")
}

func TestSpellings(t *testing.T) {
	normalizes(t, policy.SlashNormalizer{}, map[string]string{
		"http://a.example/x/y":           "http://a.example/x/y",
		"http://a.example//x///y//?a=//": "http://a.example/x/y/?a=//",
		"http://a.example//":             "http://a.example/",
	})
	normalizes(t, policy.QueryNormalizer{}, map[string]string{
		"http://a.example/?b=2&a=1":   "http://a.example/?a=1&b=2",
		"http://a.example/?b&a=2&a=1": "http://a.example/?a=2&a=1&b",
		"http://a.example/?a&b":       "http://a.example/?a&b",
		"http://a.example/":           "http://a.example/",
		"http://a.example/?":          "http://a.example/?",
	})
}

// TestNormalizerScope: names, and the chain of a scope that has none of its own.
func TestNormalizerScope(t *testing.T) {
	for _, name := range []string{"inject", "outlink", "fetcher"} {
		if scope, err := policy.ParseNormalizerScope(name); err != nil || string(scope) != name {
			t.Errorf("%s: %s, %v", name, scope, err)
		}
	}
	if _, err := policy.ParseNormalizerScope("linkdb"); err == nil || !strings.Contains(err.Error(), "linkdb") {
		t.Errorf("linkdb: %v", err)
	}
	rest := policy.DefaultNormalizers()
	scopes := policy.NormalizerScopes{policy.NormalizeInject: {}}
	if scopes.Of(policy.NormalizeInject, rest) == nil || len(scopes.Of(policy.NormalizeInject, rest)) != 0 {
		t.Error("the scope's own empty chain is not used")
	}
	if len(scopes.Of(policy.NormalizeOutlink, rest)) != 1 {
		t.Error("a scope without a chain does not use the rest")
	}
}

// TestSiteRulesOfHosts: a host is the same in any spelling. A port, which no rule can have, and a name that is no host
// are errors: URLs that went to a port by an alias would be other ones when they are normalized again.
func TestSiteRulesOfHosts(t *testing.T) {
	n := must(policy.ParseSiteRules(policy.SiteRules{
		HostAliases: []byte("Bücher.example books.example\nOLD.example. new.example\n"),
		Protocols:   []byte("*.Käse.example https\n"),
	}))(t)
	normalizes(t, n, map[string]string{
		"http://bücher.example:81/":  "http://books.example:81/",
		"http://old.example/":        "http://new.example/",
		"http://www.käse.example/x":  "https://www.xn--kse-qla.example/x",
		"http://xn--bcher.example/":  "http://xn--bcher.example/",
		"http://www.bücher.example/": "http://www.xn--bcher-kva.example/",
	})
	for _, line := range []string{
		"a.example b.example:8080", "a.example a.example:8080", "a.example *.b.example", "a.example:8080 b.example",
		"a.* b.example", "http://a.example b.example",
	} {
		_, err := policy.ParseSiteRules(policy.SiteRules{HostAliases: []byte("ok.example to.example\n" + line)})
		fails(t, func(string) error { return err }, line, "host aliases: line 2: ")
	}
}

// TestChainIsStable: what a later normalizer makes is for an earlier one too, so a chain's results are spelled as the
// chain spells them.
func TestChainIsStable(t *testing.T) {
	chain := policy.URLNormalizers{
		policy.ParameterNormalizer{},
		must(policy.ParseSubstitutions([]byte(`<regex-normalize>
			<regex><pattern>&amp;amp;</pattern><substitution>&amp;</substitution></regex>
			<regex><pattern>^(https?://[^/]+)/old/</pattern><substitution>$1/</substitution></regex>
			</regex-normalize>`)))(t),
		policy.SlashNormalizer{},
		must(policy.ParseSiteRules(policy.SiteRules{
			HostAliases: []byte("www.a.example a.example\n"), Slashes: []byte("a.example -\nb.example +\n"),
		}))(t),
		policy.QueryNormalizer{},
	}
	normalizes(t, chain, map[string]string{
		"http://a.example/?x=1&amp;utm_source=y": "http://a.example/?x=1",
		"http://a.example/old//old/x/":           "http://a.example/x",

		"http://a.example" + strings.Repeat("/old/", 40) + "x": "http://a.example/x",
	})
	part := rapid.SampledFrom([]string{
		"/", "/", "//", "/old/", ".", "..", "%2e", "%2F", "%", "x", "é", ";", ";jsessionid=1", "?", "&", "&amp;", "=",
		"utm_a=1", "sid=0123456789abcdef", "b=2", "a",
	})
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"a.example", "www.a.example", "b.example:8080"}).Draw(t, "host")
		rest := strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), "")
		u, err := urlkey.Parse("http://" + host + "/" + rest)
		if err != nil {
			return
		}
		once, err := chain.Normalize(u)
		if err != nil {
			t.Fatalf("%s: %v", u, err)
		}
		for i, n := range chain {
			if again, err := n.Normalize(once); err != nil || again != once {
				t.Fatalf("%s became %s, which normalizer %d spells %s (%v)", u, once, i, again, err)
			}
		}
	})
	turn := policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) { return u.Resolve("./x/y") })
	if u, err := (policy.URLNormalizers{turn, policy.SlashNormalizer{}}).Normalize(parse(t, "http://a/")); err == nil {
		t.Errorf("%s, although each round makes another URL", u)
	}
}
