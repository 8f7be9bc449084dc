// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lines that end within maxBytes of a file are read (RFC 9309 requires at least 500 KiB), maxRules of its rules kept.
// A longer Crawl-delay than maxDelay is taken as maxDelay.
const (
	maxBytes = 512 << 10
	maxRules = 50_000
	maxDelay = 30 * 24 * time.Hour
)

// File is a parsed robots.txt. It is immutable and safe for concurrent use. The zero value is an empty file.
type File struct {
	groups   []group
	sitemaps []string
	licenses []string
}

// group holds the rules that follow one or more user-agent lines.
type group struct {
	agents []agent
	timed  int // how many agents had a Crawl-delay line behind them, valid or not
	rules  []rule

	preferences []preference
}

// agent is a product token in lower case, or "*" for all, with its Crawl-delay. Crawl-delay is not a rule of
// RFC 9309 and does not end a run of user-agent lines, so it belongs to the agents before it and not to those
// after it.
type agent struct {
	name  string
	delay time.Duration
	hasCD bool
}

// Parse parses a file. It skips lines that it does not understand, and accepts any bytes. It does not keep body.
func Parse(body []byte) *File {
	f := &File{}
	if len(body) >= maxBytes { // half a line may be a pattern that matches much more
		body = body[:bytes.LastIndexAny(body[:maxBytes], "\r\n")+1]
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	rules, preferences, inRules := 0, 0, true
	for len(body) > 0 {
		line := body
		if end := bytes.IndexAny(body, "\r\n"); end >= 0 {
			line, body = body[:end], body[end+1:]
		} else {
			body = nil
		}
		name, value, ok := field(line)
		if !ok {
			continue
		}
		switch name {
		case "user-agent":
			if inRules {
				f.groups = append(f.groups, group{})
				inRules = false
			}
			g := &f.groups[len(f.groups)-1]
			g.agents = append(g.agents, agent{name: agentToken(value)})
		case "sitemap":
			f.sitemaps = append(f.sitemaps, value)
		case "license":
			if value != "" && len(value) <= preferenceMax && len(f.licenses) < maxLicenses {
				f.licenses = append(f.licenses, value)
			}
		case "content-usage", "content-signal":
			// Not a rule of RFC 9309 either. It does not end a run of user-agent lines, because a parser that
			// does not know it would skip it.
			p, ok := newPreference(preferenceNames[name], value)
			if ok && len(f.groups) > 0 && preferences < maxPreferences {
				preferences++
				g := &f.groups[len(f.groups)-1]
				g.preferences = append(g.preferences, p)
			}
		case "allow", "disallow", "crawl-delay":
			if len(f.groups) == 0 {
				continue // a rule before any user-agent line applies to no agent
			}
			g := &f.groups[len(f.groups)-1]
			if name == "crawl-delay" {
				g.setDelay(value)
				continue
			}
			inRules = true
			if rules < maxRules && value != "" {
				rules++
				g.rules = append(g.rules, newRule(name == "allow", value))
			}
		}
	}
	return f
}

// space holds the bytes that count as white space: those of ASCII and NUL, not those of Unicode.
const space = " \t\v\f\x00"

// field splits "name: value # comment". Like Google's parser it accepts two words without a colon, and common
// misspellings of field names.
func field(line []byte) (name, value string, ok bool) {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	line = bytes.Trim(line, space)
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		words := bytes.Fields(line)
		if len(words) != 2 {
			return "", "", false
		}
		i = bytes.IndexAny(line, " \t")
	}
	if i <= 0 {
		return "", "", false
	}
	name = strings.ToLower(string(bytes.Trim(line[:i], space)))
	switch name {
	case "useragent", "user agent":
		name = "user-agent"
	case "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		name = "disallow"
	case "site-map":
		name = "sitemap"
	case "crawldelay", "crawl delay":
		name = "crawl-delay"
	}
	return name, string(bytes.Trim(line[i+1:], space)), true
}

// agentToken returns the product token of a user-agent line in lower case: its leading letters, '_' and '-'.
func agentToken(value string) string {
	if strings.HasPrefix(value, "*") && (len(value) == 1 || value[1] == ' ' || value[1] == '\t') {
		return "*"
	}
	end := strings.IndexFunc(value, func(r rune) bool {
		return !(r == '_' || r == '-' || 'a' <= r|0x20 && r|0x20 <= 'z')
	})
	if end >= 0 {
		value = value[:end]
	}
	return strings.ToLower(value)
}

// setDelay applies a Crawl-delay in seconds to the agents that have had none. An invalid value counts as none.
func (g *group) setDelay(value string) {
	seconds, err := strconv.ParseFloat(value, 64)
	ok := err == nil && !math.IsNaN(seconds) && seconds >= 0
	delay := maxDelay
	if ok && seconds < maxDelay.Seconds() {
		delay = time.Duration(seconds * float64(time.Second))
	}
	for i := g.timed; i < len(g.agents); i++ {
		g.agents[i].delay, g.agents[i].hasCD = delay, ok
	}
	g.timed = len(g.agents)
}

// Sitemaps returns the values of the file's Sitemap lines, unchanged and in order. The caller must not change
// the slice.
func (f *File) Sitemaps() []string { return f.sitemaps }

// Rules returns the rules for an agent, given by its product token: the merged groups that name it, or else the
// merged groups for "*".
func (f *File) Rules(agent string) *Rules {
	token := agentToken(agent)
	r := &Rules{}
	if token == "" || !f.merge(r, token) {
		f.merge(r, "*")
	}
	r.licenses = f.licenses
	return r
}

// merge adds the groups that name a token to r. Of several delays the longest counts.
func (f *File) merge(r *Rules, token string) (found bool) {
	for i := range f.groups {
		g := &f.groups[i]
		at := slices.IndexFunc(g.agents, func(a agent) bool { return a.name == token })
		if at < 0 {
			continue
		}
		found = true
		r.rules = append(r.rules, g.rules...)
		r.preferences = append(r.preferences, g.preferences...)
		if a := g.agents[at]; a.hasCD && (!r.hasCD || a.delay > r.delay) {
			r.delay, r.hasCD = a.delay, true
		}
	}
	return found
}
