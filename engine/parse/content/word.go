// SPDX-License-Identifier: Apache-2.0

package content

import "strings"

// groups are words that authors use in class, id and role; the words of a line mean the same.
var groups = strings.Split(`nav navbar navigation menu submenu megamenu
breadcrumb breadcrumbs crumb
footer foot bottom copyright legal
header head masthead topbar top
sidebar side aside rail secondary
widget
related similar recommend recommended recommendations recommendation more
comment comments disqus respond
share social sharing follow facebook twitter
cookie consent gdpr privacy onetrust cookiebot
banner ad ads advert advertisement sponsor sponsored promo promotion
popup modal dialog overlay lightbox drawer
newsletter subscribe signup subscription mailing
login signin register account
search filter filters facet facets sort
pagination pager page paging
tag tags category categories cat taxonomy
meta byline author date published timestamp time
content contents text body copy rich richtext prose wysiwyg rte
article post entry story blog
main primary
product pdp
description desc summary details detail overview
price cart buy add checkout basket quantity shipping
review reviews rating ratings testimonial testimonials
spec specs specification specifications attributes features feature
card cards tile teaser
item items
list listing results result grid
forum thread topic message msg reply posts
quote signature sig
user username avatar profile member
toolbar tools actions action buttons btn
sr only visually hidden skip screenreader
dropdown collapse collapsed
carousel slider swiper slick slide
hero
cta contact
faq accordion question answer
tab tabs
toc
logo brand
image img figure caption gallery media thumbnail
docs doc documentation markdown md
title headline heading
table
section block module component
form field label input
variant variants swatch swatches color size option options
upsell cross sell recently viewed bundle frequently bought together also
announcement notice alert notification warning
mobile desktop tablet
excerpt intro lead standfirst dek subtitle subheading
vote votes accepted upvote karma points likes reactions
empty error loading placeholder skeleton loader spinner
wishlist favorite favorites compare
store stores location locator
count counter total number
hidden`, "\n")

// nearHidden is the index in near of the last group of words, in which elements that are invisible by style belong.
var nearHidden = nears - 1

// wordSlots is the size of the table of words, a power of two well above their number.
const wordSlots = 1 << 11

type wordTable [wordSlots]struct {
	hash  uint32
	group uint8 // plus one
}

// words finds the group of a word by the word's hash.
var words = func() *wordTable {
	t := new(wordTable)
	for g, line := range groups {
		for _, w := range strings.Fields(line) {
			h := uint32(wordSeed)
			for i := range len(w) {
				h = wordHash(h, w[i])
			}
			i := h % wordSlots
			for t[i].group != 0 {
				i = (i + 1) % wordSlots
			}
			t[i].hash, t[i].group = h, uint8(g+1)
		}
	}
	return t
}()

const wordSeed = 2166136261

func wordHash(h uint32, c byte) uint32 { return (h ^ uint32(c)) * 16777619 } // FNV-1a

// group returns the group of a word by the word's hash, -1 if it is in none.
func (t *wordTable) group(h uint32) int {
	for i := h % wordSlots; t[i].group != 0; i = (i + 1) % wordSlots {
		if t[i].hash == h {
			return int(t[i].group) - 1
		}
	}
	return -1
}

// maxNames bounds the part of an attribute that is read, in bytes.
const maxNames = 256

// eachWord calls f with the hash of each word of an attribute. Words are runs of letters, ignoring case; a new one
// begins where a capital follows a small letter ("navBar").
func eachWord(names []byte, f func(hash uint32)) {
	names = names[:min(len(names), maxNames)]
	h, in, small := uint32(wordSeed), false, false
	for _, c := range names {
		capital := c-'A' < 26
		if !capital && c-'a' >= 26 || capital && small {
			if in {
				f(h)
			}
			h, in = wordSeed, false
		}
		small = c-'a' < 26
		if capital || small {
			h, in = wordHash(h, c|0x20), true
		}
	}
	if in {
		f(h)
	}
}
