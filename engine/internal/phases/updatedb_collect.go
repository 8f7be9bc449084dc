// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// collector reads the parse records of some neighbouring pages of a segment, and gathers what they say by the URL it is
// about. It belongs to one goroutine.
type collector struct {
	p        *Phases
	changes  *admission.Changes
	segment  uint32
	memory   int64           // bytes, of keys with what is kept beside them
	inputs   *storage.Sorter // key → input
	withheld *storage.Sorter // key → storage.Withheld
	outcomes uint64
	filtered map[string]uint64

	page    storage.FetchOutcome
	links   storage.OutlinkReader
	keys    KeyTable           // of targets
	targets []target           // by number
	counted []int              // numbers of the current page's targets that are admitted or withheld
	trapped int                // its targets below closed prefixes
	hints   map[int]hint       // by number of the target
	said    []storage.LinkHint // what the current page says of the links that were not read yet
	linked  policy.Page        // what is known of the current page's links
	visited uint32             // pages so far
	value   []byte
}

// newCollector makes one of n that collect a segment at the same time. It takes the memory of an earlier one.
func (p *Phases) newCollector(segment uint32, n int) *collector {
	c, ok := p.collectors.take().(*collector)
	if !ok {
		c = new(collector)
	}
	memory := p.env.TableBytes / int64(n)
	if c.room() > spareFactor*memory { // it was one of fewer
		c = new(collector)
	}
	*c = collector{
		p: p, changes: p.env.Admission.NewChanges(), segment: segment, memory: memory,
		inputs: p.sorterOf(n, foldInputs), withheld: p.sorterOf(n, foldWithheld), filtered: map[string]uint64{},
		keys: c.keys, targets: c.targets, counted: c.counted, value: c.value,
	}
	return c
}

// close ends the run and keeps its memory for the next. With 10,000 hosts, that saved 10 µs a page on an earlier host;
// invertlinks does the same.
func (c *collector) close() error {
	err := errors.Join(c.inputs.Close(), c.withheld.Close())
	p, memory := c.p, c.memory
	c.keys.Reset()
	clear(c.targets[:cap(c.targets)])
	*c = collector{keys: c.keys, targets: c.targets[:0], counted: c.counted, value: c.value}
	if c.room() <= spareFactor*memory {
		p.collectors.put(c, max(p.env.Processors, 1))
	}
	return err
}

// room is the memory that it has, in use or not.
func (c *collector) room() int64 {
	return c.keys.Room() + int64(targetBytes*cap(c.targets)+8*cap(c.counted)+cap(c.value))
}

// target is what the segment's links say about one URL so far.
type target struct {
	sum     linkSum
	page    uint32 // the last that links here
	times   uint32 // how many links that page has to here
	hostEnd uint16 // of its host's key in its own
	fate    fate
	again   bool   // a page that was fetched before gave some of the score
	refused uint32 // times that the refusal was met, once per page
	reason  string // of the refusal
	domain  string // set when another host links here
	bits    uint64 // of other domains that do; see admission.Referral
}

// targetBytes is the memory of a target.
const targetBytes = 72

// fate is what becomes of links to a target.
type fate uint8

const (
	fateAdmitted         fate = iota
	fateWithheldByScope       // the refusal may end
	fateWithheldByFilter      // the refusal may end
	fateTrapped               // below a closed prefix: refused, but it counts as a link of its pages
	fateRefused
)

func fateOf(v admission.Verdict) fate {
	switch {
	case v.OK():
		return fateAdmitted
	case v.Later && v.Reason == admission.ReasonScope:
		return fateWithheldByScope
	case v.Later:
		return fateWithheldByFilter
	case v.Reason == admission.ReasonDuplicates:
		return fateTrapped
	}
	return fateRefused
}

// withheldReason is what is stored for a fate.
func (f fate) withheldReason() storage.WithheldReason {
	switch f {
	case fateWithheldByScope:
		return storage.WithheldByScope
	case fateWithheldByFilter:
		return storage.WithheldByFilter
	}
	return 0
}

// collect reads the parse records from one key on up to another.
func (c *collector) collect(ctx context.Context, from, to []byte) (err error) {
	sc := c.p.env.Store.Scan(storage.ParseLinks(c.segment), from, to)
	defer sc.Close()
	known := storage.NewFinder(c.p.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, known.Close()) }()
	way := storage.NewPacer(c.p.env.GiveWay)
	for n := 0; sc.Next(); n++ {
		way.Step()
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.ReadFetchOutcome(sc.Value(), &c.page, &c.links); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		source := storage.Record{Depth: math.MaxUint16} // a page that is not known is no seed
		record, err := known.Find(sc.Key())
		if err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if record != nil {
			if err := storage.DecodeRecord(record, &source); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
		}
		if err := c.addPage(sc.Key(), &source); err != nil {
			return err
		}
		if c.keys.Full(c.memory - int64(len(c.targets))*targetBytes) {
			if err := c.addTargets(); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("reading parse records: %w", err)
	}
	return c.addTargets()
}

// addPage adds a page's outcome and what it gives to its targets.
func (c *collector) addPage(key []byte, source *storage.Record) error {
	c.outcomes++
	o := &c.page
	c.value = appendInput(c.value[:0], &input{outcome: true}, o)
	if err := c.inputs.Add(key, c.value); err != nil {
		return fmt.Errorf("sorting outcomes: %w", err)
	}
	if triesInstead(source, o) {
		return c.addInstead(source)
	}
	page := policy.Page{Score: source.Score, Depth: source.Depth, First: !voted(source)}
	if o.Redirect != "" && o.Status != storage.FetchSuccess {
		page.Links = 1
		return c.addRedirect(key, source, &page, 0)
	}
	if o.Status != storage.FetchSuccess || o.Flags&storage.FlagNoFollow != 0 {
		return nil
	}
	c.visited++
	c.counted, c.trapped, c.linked = c.counted[:0], 0, policy.Page{Accepted: int(o.SelfLinks), All: int(o.SelfLinks)}
	host, refreshes := urlkey.HostKeyOf(key), 0
	c.said = nil
	if c.p.env.Hints {
		c.said = o.Hints
	}
	for n := uint32(0); c.links.Next(); n++ {
		to, times := c.links.Key(), c.links.Times()
		if c.links.NoFollow() {
			continue
		}
		c.linked.All += times
		switch {
		case bytes.Equal(to, key) || c.ignored(host, urlkey.HostKeyOf(to)):
		case string(to) == string(o.Redirect):
			refreshes += times
		default:
			target := c.link(to, times)
			if len(c.said) > 0 && bytes.Equal(host, urlkey.HostKeyOf(to)) { // no site may speak for another
				c.noteHint(target, n)
			}
		}
	}
	if err := c.links.Err(); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	if refreshes > 0 { // package parse makes a link of the refresh as well
		refreshes--
		c.linked.All--
	}
	page.Links = len(c.counted) + c.trapped
	page.Accepted, page.All = c.linked.Accepted, c.linked.All
	if o.Redirect != "" { // it refreshes itself to another page, which is one of its links
		page.Links++
		if err := c.addRedirect(key, source, &page, refreshes); err != nil {
			return err
		}
	}
	c.give(key, page)
	return c.giveSelf(key, page, source.Hops)
}

// ignored reports whether a link from one host to another does not count, and counts it as refused.
func (c *collector) ignored(from, to []byte) bool {
	reason := c.p.ignores(from, to)
	if reason != "" {
		c.filtered[reason]++
	}
	return reason != ""
}

// ignores returns why links from one host to another do not count, "" if they do.
func (p *Phases) ignores(from, to []byte) string {
	if !p.env.Links.IgnoreExternal && !p.env.Links.IgnoreInternal {
		return ""
	}
	return p.env.Links.Refuses(urlkey.HostKey(from), urlkey.HostKey(to))
}

// noteHint notes what the current page says of a target, by the place of the link to it.
func (c *collector) noteHint(target int, link uint32) {
	for len(c.said) > 0 && c.said[0].Link < link {
		c.said = c.said[1:]
	}
	if len(c.said) == 0 || c.said[0].Link != link {
		return
	}
	if c.hints == nil {
		c.hints = map[int]hint{}
	}
	c.hints[target] = c.hints[target].plus(hintOf(&c.said[0], c.page.Time))
}

// link notes some links of the current page to one target, unless that is refused, and returns its number.
func (c *collector) link(key []byte, times int) int {
	n, fresh := c.keys.Number(xxh3.Hash(key), key)
	if fresh {
		v := c.p.env.Admission.VerdictKey(urlkey.Key(key), admission.Facts{})
		c.targets = append(c.targets, target{
			hostEnd: uint16(len(urlkey.HostKeyOf(key))), fate: fateOf(v), reason: v.Reason,
		})
	}
	t := &c.targets[n]
	if t.fate == fateAdmitted || t.fate == fateTrapped {
		c.linked.Accepted += times
	}
	if t.page == c.visited {
		t.times += uint32(times)
		return n
	}
	t.page, t.times = c.visited, uint32(times)
	if t.fate != fateAdmitted {
		t.refused++
	}
	switch t.fate {
	case fateRefused:
	case fateTrapped:
		c.trapped++
	default:
		c.counted = append(c.counted, n)
	}
	return n
}

// give gives each counted target of a page its part.
func (c *collector) give(key []byte, page policy.Page) {
	host := urlkey.HostKeyOf(key)
	c.changes.Referral.From(host)
	internal := c.sumOf(page, policy.Link{Internal: true, Times: 1})
	external := c.sumOf(page, policy.Link{Times: 1})
	for _, n := range c.counted {
		t := &c.targets[n]
		to := c.keys.Key(n)[:t.hostEnd]
		same, sum, refused := string(to) == string(host), external, t.fate.withheldReason() != 0
		switch {
		case t.times > 1 || refused:
			sum = c.sumOf(page, policy.Link{Internal: same, Times: int(t.times), Refused: refused})
		case same:
			sum = internal
		}
		t.sum = t.sum.plus(sum)
		t.again = t.again || !page.First && sum.score != 0
		if same {
			continue
		}
		if t.fate == fateWithheldByScope {
			// What a seed brings into scope is of its domain, which has no budget by referrers. If a later process has
			// a wider scope, the domain starts with the budget of one that no other links to.
			continue
		}
		if t.domain == "" {
			t.domain = c.changes.Referral.DomainOf(urlkey.HostKey(to))
		}
		if t.domain != c.changes.Referral.Domain {
			t.bits |= c.changes.Referral.Bit
		}
	}
}

// giveSelf gives a page what its links to parts of itself are worth, for a scorer that counts these.
func (c *collector) giveSelf(key []byte, page policy.Page, hops uint8) error {
	if c.page.SelfLinks == 0 {
		return nil
	}
	score := c.p.env.Scorer.Distribute(page, policy.Link{Internal: true, Self: true, Times: int(c.page.SelfLinks)})
	if score == 0 {
		return nil
	}
	return c.admit(key, &input{links: linkSum{any: true, hops: hops, depth: page.Depth, score: score}})
}

// sumOf is what a page's links to a target say of it.
func (c *collector) sumOf(page policy.Page, l policy.Link) linkSum {
	return linkSum{any: true, depth: deeper(page.Depth), score: c.p.env.Scorer.Distribute(page, l)}
}

// addTargets gives what links say about their targets to the sorters and forgets it.
func (c *collector) addTargets() error {
	for n := range c.targets {
		t := &c.targets[n]
		if t.refused > 0 {
			c.filtered[t.reason] += uint64(t.refused)
		}
		if !t.sum.any {
			continue
		}
		var err error
		if reason := t.fate.withheldReason(); reason != 0 {
			w := storage.Withheld{
				Reason: reason, Score: t.sum.score, Depth: t.sum.depth, Hops: t.sum.hops, Link: true, Referrers: t.bits,
			}
			err = c.withhold(c.keys.Key(n), &w, t.again)
		} else {
			if t.bits != 0 {
				c.changes.Referral.Add(t.domain, t.bits)
			}
			err = c.admit(c.keys.Key(n), &input{links: t.sum, hint: c.hints[n]})
		}
		if err != nil {
			return err
		}
	}
	c.keys.Reset()
	c.targets = c.targets[:0]
	clear(c.hints)
	return nil
}

// admit adds what is to be joined with crawldb.
func (c *collector) admit(key []byte, in *input) error {
	c.value = appendInput(c.value[:0], in, nil)
	if err := c.inputs.Add(key, c.value); err != nil {
		return fmt.Errorf("sorting links: %w", err)
	}
	return nil
}

// withhold adds what is refused for now. again says that some of its score is of a page that was fetched before.
func (c *collector) withhold(key []byte, w *storage.Withheld, again bool) error {
	c.value = appendWithheld(c.value[:0], w, again)
	if err := c.withheld.Add(key, c.value); err != nil {
		return fmt.Errorf("sorting withheld links: %w", err)
	}
	return nil
}

// addRedirect treats the target of a redirect as a link of its page. A seed that redirects
// takes the target into the scope: people name python.org and mean www.python.org. What other pages link to there
// comes into reach when this segment is ingested. A sitemap is no seed, whatever its depth: nobody has named its host.
//
// Redirects in a row are counted, and a chain that is too long ends: its next target gets no record. times is how many
// links the page has to the target as well; if they are accepted, page counts them.
func (c *collector) addRedirect(key []byte, source *storage.Record, page *policy.Page, times int) error {
	to := c.page.Redirect
	if c.ignored(urlkey.HostKeyOf(key), []byte(to.HostKey())) {
		return nil
	}
	ofSitemap := page.Depth == 0 && source.IsSitemap()
	facts := admission.Facts{Seed: page.Depth == 0 && !ofSitemap, Hops: int(source.Hops) + 1}
	v := c.p.env.Admission.VerdictKey(to, facts)
	if facts.Seed && v.Reason != admission.ReasonChain && v.Reason != admission.ReasonMalformed {
		c.changes.Seed(to)
	}
	if v.OK() {
		page.Accepted += times
	}
	internal := string(to.HostKey()) == string(urlkey.HostKeyOf(key))
	link := policy.Link{Internal: internal, Redirect: true, Times: times, Refused: !v.OK()}
	sum := linkSum{
		any: true, hops: source.Hops + 1, depth: page.Depth + redirectDepthCost,
		score: c.p.env.Scorer.Distribute(*page, link),
	}
	if v.OK() {
		shownAs, err := c.shownAs(key, source, to)
		if err != nil {
			return err
		}
		return c.admit([]byte(to), &input{links: sum, shownAs: shownAs, ofSitemap: ofSitemap})
	}
	return c.add(to, sum, false, !page.First && sum.score != 0, v)
}

// addInstead makes a seed of the URL by which the current page, which is one, is tried: see instead.go.
func (c *collector) addInstead(seed *storage.Record) error {
	to := c.page.Redirect
	v := c.p.env.Admission.VerdictKey(to, admission.Facts{Seed: true})
	if v.Reason != admission.ReasonMalformed {
		c.changes.Seed(to)
	}
	sum := linkSum{any: true}
	if !v.OK() {
		first := !voted(seed)
		if first {
			sum.score = seed.Score
		}
		return c.add(to, sum, false, !first, v)
	}
	r := storage.Record{
		Status: storage.StatusUnfetched, Interval: seed.Interval, Score: seed.Score, Meta: lineMeta(seed),
	}
	return c.admit([]byte(to), &input{links: sum, seed: storage.AppendRecord(nil, &r)})
}

// shownAs returns the URL by which the target of the current page's redirect is shown; "": its own. The page may itself
// be shown by the URL of a redirect to it.
func (c *collector) shownAs(key []byte, source *storage.Record, to urlkey.Key) (string, error) {
	if !c.p.env.ChooseRedirectURL {
		return "", nil
	}
	from, err := urlkey.Key(key).URL()
	if err != nil {
		return "", fmt.Errorf("redirect of %s: %w", key, err)
	}
	for _, f := range source.Meta {
		if shown, err := urlkey.Parse(f.Value); f.Name == policy.MetaRedirectURL && err == nil {
			from = shown
		}
	}
	target, err := to.URL()
	if err != nil {
		return "", fmt.Errorf("redirect of %s: %w", key, err)
	}
	temporary := c.page.Status == storage.FetchRedirTemp
	if c.page.Status == storage.FetchSuccess { // it refreshes itself
		temporary = c.page.Flags&storage.FlagRefreshPerm == 0
	}
	if best := policy.ChooseRedirectURL(from, target, temporary); best != target {
		return best.String(), nil
	}
	return "", nil
}

// add admits, withholds or refuses a single URL. again is as in withhold.
func (c *collector) add(key urlkey.Key, sum linkSum, sitemap, again bool, v admission.Verdict) error {
	if v.OK() {
		return c.admit([]byte(key), &input{links: sum, sitemap: sitemap})
	}
	c.filtered[v.Reason]++
	if reason := fateOf(v).withheldReason(); reason != 0 {
		w := storage.Withheld{
			Reason: reason, Score: sum.score, Depth: sum.depth, Hops: sum.hops, Link: sum.any, Sitemap: sitemap,
		}
		return c.withhold([]byte(key), &w, again)
	}
	return nil
}

// addSitemaps adds the sitemaps that were found: those that crawldb does not know get the score of a seed,
// so that they are fetched before the pages that they lead to. One collector of a segment does this. done is to be
// called when the update is committed.
func (c *collector) addSitemaps() (done func(), err error) {
	if c.p.env.Sitemaps == nil {
		return func() {}, nil
	}
	keys, done := c.p.env.Sitemaps(c.segment)
	for _, k := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		v := c.p.env.Admission.VerdictKey(k, admission.Facts{})
		if err := c.add(k, linkSum{}, true, false, v); err != nil {
			return nil, fmt.Errorf("sitemap %s: %w", k, err)
		}
	}
	return done, nil
}
