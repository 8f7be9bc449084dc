// SPDX-License-Identifier: Apache-2.0

package simweb

var englishWords = language{
	tag: "en", dir: "ltr", space: " ",
	gaps: map[byte]string{
		'f': "herring|mackerel|cod|haddock|sprat|plaice|salmon|eel|lobster|crab|hake|turbot|whiting|sardine|anchovy|mussel|oyster|shrimp|pollock|squid",
		'b': "boat|trawler|seiner|ketch|skiff|cutter|tug|ferry|coaster|lugger|yawl|barge|lifeboat|dory|schooner|dinghy",
		'B': "Grey Heron|Good Hope|Morning Star|Three Sisters|Silver Tide|Old Bess|Northern Light|Sea Thrift|Wild Goose|Patience|Black Pearl|Bonny Anne",
		'g': "net|seine|drift net|longline|rope|anchor|hook|lantern|compass|winch|buoy|chart|sail|rudder|bait box|creel|oar",
		'w': "fog|storm|rain|wind|gale|swell|frost|drizzle|thunder|calm|hail|sunshine|squall|sea mist",
		'n': "skipper|crew|pilot|harbour master|fisherman|cook|net mender|lighthouse keeper|buyer|widow|boat builder|ferryman|apprentice|coastguard",
		'a': "old|new|small|quiet|grey|heavy|cold|bright|narrow|deep|wet|patient|broken|clean|early|late|long|salty",
		't': "dawn|noon|high water|low tide|midnight|the first bell|sunset|four o'clock|breakfast|the evening tide",
		'd': "soup|smoked fish|bread|chowder|fish pie|pickled herring|stew|potatoes|oatcakes|tea|butter|fried sprats",
	},
	placeA:  "Brack|Kestrel|Sand|Thorn|Gull|Holm|Wick|Stone|Ash|Merrow|Tarn|Cold|Salt|Ravens|Pen|Inver|Port|Long|Skerry|Oyster|Hallow|Drift|Whin|Marl",
	placeB:  "mouth|bay|haven|ness|ford|quay|wick|island|sound|cove|stead|bridge",
	between: " at ", home: "Home", generic: "more|read more|here|click here|continue|details", updated: "Updated",
	topics: [topics]topic{
		{"Herring fishing|Seine nets|Night fishing|Longlines and hooks|The lobster season|Cod grounds|Mending nets|Catch and quota", `
			The $n set the $g before $t and hauled $N baskets of $f.
			The $a shoal of $f came close to the shore at $p.
			On the $b $B the crew repair nets while they wait for the tide.
			Nobody had seen so many $f since the winter of the $a $w.
			With the $g of $N fathoms two men can fish the whole bay of $p.
			When the $f are gone, the $n looks for $f further north.`},
		{"Storm warning|Fog on the coast|Tide tables|Wind and swell|The winter forecast|Reading the clouds|Frost in the harbour|A year of gales", `
			A storm is expected at $p before $t, with $w and the $a swell of the season.
			The $n reads the weather from the gulls and is seldom wrong.
			After $N days of $w the sky cleared and the $b could leave.
			High water at $p is at $t; mind the current under the bridge.
			The morning brings $w, and more $w towards $t.
			The $a lighthouse cannot be seen in the fog from $p.`},
		{"Wooden boats|Building a skiff|The last schooner|Engines and sails|Painting the hull|Ferry timetable|Lifeboat crew|Ropes and knots", `
			The $b $B was built at $p from oak and larch.
			Her hull is $N feet long and the mast is $a but sound.
			A $n can paint a $b in three days if the $w stays away.
			The $b carries a spare $g, the $g and $N yards of rope.
			Every spring the $n tars the seams and mends the $g.
			The ferry to $p leaves at $t and takes $N passengers.`},
		{"The old harbour|Harbour dues|Lighthouse walk|The quay and the crane|Pilots of the estuary|Harbour storm of 1907|The net loft|Anchorages", `
			The harbour of $p has the $a quay and room for $N boats.
			The $n asks every $b for its name, its cargo and its dues.
			A net hangs to dry along the harbour wall until $t.
			Behind the harbour the road climbs to the church of $p.
			During the storm the $b $B broke loose and drifted to $p.
			The pilot meets each $b at the $a buoy outside the harbour.`},
		{"Fish market prices|The morning auction|Salt and barrels|Buyers and sellers|A fair price for crab|Ice and transport|Market day|Trade with the islands", `
			At the market of $p a box of $f was sold for $N shillings.
			The auction begins at $t, and the $n never bids first.
			The price of $f rose because of the $w off $p.
			Salt comes by $b from $p in barrels of $N pounds.
			The $n buys $f, $f and sometimes the $a $g.
			What is not sold by $t goes to the smoke house.`},
		{"Chowder and bread|Smoked mackerel|Pickled herring|The galley cook|Sunday fish pie|Mussels in cider|Tea at four|Baking for the crew", `
			Take $N pounds of $f, a little butter and the onion that is $a.
			The $n of the $B is known for $d and $d.
			Serve the $d hot, with $d, before $t.
			In $p they eat $f with $d in times of $w.
			Smoke the $f over oak for $N hours and let it rest.
			No $b leaves $p without $d for the whole crew.`},
	},
}
