// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// uses is a set of commands.
type uses uint32

// The commands, one bit each.
const (
	inCrawl uses = 1 << iota
	inInject
	inGenerate
	inFetch
	inParse
	inUpdateDB
	inInvertlinks
	inDedup
	inIndex
	inRecrawl
	inDelete
	inPurge
	inFilter
	inLinkrank
	inMergelinkdb
	inMergedb
	inSplitdb
	inDedupURLs
	inFreegen
	inCheckURL
	inStories // report url, report host, and the pages of them
	inCheckParse
	inExport
	inViews // search, readdb, readhost, readlinks, readseg, webgraph, report, export
	inAll   = 1<<iota - 1
)

// commandNames are the names of the bits, in order.
var commandNames = []string{
	"crawl", "inject", "generate", "fetch", "parse", "updatedb", "invertlinks", "dedup", "index",
	"recrawl", "delete", "purge", "filter", "linkrank", "mergelinkdb", "mergedb", "splitdb", "dedup-urls", "freegen",
	"check url", "report url and host", "check parse", "export", "the commands that read",
}

// The sets of commands that share settings, by what they do. TestSettingEffects holds them.
const (
	// making commands make records of new URLs: of seeds, of links, and of links that were withheld before.
	making = inCrawl | inInject | inGenerate | inUpdateDB | inMergedb | inSplitdb
	// deciding commands decide over such URLs.
	deciding = making | inCheckURL
	// linking commands read the links of pages, those that make records also to pass on depths that fell.
	linking = making | inInvertlinks
	// filtering commands ask the filters.
	filtering = deciding | inCheckParse | merging | listing
	// indexing commands bring the index up to date.
	indexing = inIndex | inDelete | inPurge | inFilter | inSplitdb
	// restoring commands take documents out of the index, and restore the best of their duplicates. (Invertlinks does
	// where purge-gone, purge-orphans, gone-unlinked or orphan-unlinked say so.)
	restoring = inDelete | inFilter | inSplitdb | inInvertlinks
	// showing commands decide what is found: not what the filter files deny.
	showing = indexing | inDedup | restoring
	// normalizing commands rewrite seeds, links, targets of redirects, sitemaps, or URLs that are named.
	normalizing = inCrawl | inInject | inFetch | inParse | inUpdateDB | inCheckURL | inCheckParse | inRecrawl |
		inDelete | merging | listing | inFilter
	// merging commands add what other data directories have.
	merging = inMergelinkdb | inMergedb
	// listing commands read lists of URLs, as those of seeds.
	listing = inDedupURLs | inFreegen
	// parsing commands parse pages.
	parsing = inCrawl | inFetch | inParse | inCheckParse
	// continuing commands go on with what is in a data directory; in an empty one they have nothing to do.
	continuing = inGenerate | inFetch | inParse | inUpdateDB | inInvertlinks | inDedup | inIndex | inRecrawl |
		inDelete | inPurge | inFilter | inLinkrank | inMergelinkdb | inSplitdb
	// changing commands change a data directory.
	changing = inCrawl | inInject | inFreegen | inMergedb | continuing
	// storing commands write the crawl log: they fetch, or read back what was fetched.
	storing = inCrawl | inFetch | inParse
	// rebuilding commands run the phases behind fetch: verify --repair and rebuild.
	rebuilding = inInject | inParse | inUpdateDB | inInvertlinks | inDedup | inIndex
	// fetching commands fetch many pages, requesting commands at least one.
	fetching   = inCrawl | inFetch
	requesting = fetching | inCheckParse
)

// names lists the commands of a set.
func (u uses) names() (list []string) {
	for i, name := range commandNames {
		if u&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String lists the commands of a set for people.
func (u uses) String() string {
	if u == inAll {
		return "all commands"
	}
	list := u.names()
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
