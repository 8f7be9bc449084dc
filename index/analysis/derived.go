// SPDX-License-Identifier: Apache-2.0

package analysis

import "strings"

// derivations are sets of English endings like paradigms: what a word and the words derived from it end in, where the
// derived ones still speak of the same thing: compute, computer; elastic, elasticity; structure, structural. An ending
// is written with the letters before it where only these make it safe: -al follows -ion, -ment, -ur, -iv and -os
// (optional, retrieval), not any consonant (universe, universal); -ize follows -al and -ar (linearize), not any
// noun (organ, organize); -er and -or follow verbs that drop their e (compile, compiler; generate, generator), not any
// (custom, customer).
var derivations = endings(`
	ment ments mented menting mental mentally mentation;
	ion ions ioned ioning ional ionally ionality;
	ure ures ured uring ural urally urely urity;
	ve ves ved ving val vals;
	ose oses osed osing osal osals;
	le ly les ility ilities led ling;
	ous ously osity osities ity ities;
	ic ics ical icals ically icity icities;
	al als ally ality alities alize alizes alized alizing alization alizations alise alised alising alisation;
	ar arly arity arities arize arizes arized arizing arization;
	imal imally imize imizes imized imizing imization imizations imizer imizers;
	dom domly domize domizes domized domizing domization domizer;
	ard ards ardize ardizes ardized ardizing ardization;
	ive ives ively ivity ivities iveness;
	e es ed ing ings ation ations ational ationally er ers or ors able ably ability;
	0 s ed ing ings ation ations ational er ers able ably ability ible ance ances ence ences ent ently;
	ate ates ated ating ation ations ational ationally ator ators ative atively atives;
	ct cts cted cting ction ctions ctional ctor ctors ctive ctively ctivity;
	pt pts pted pting ption ptions ptive ptively;
	ess esses essed essing ession essions essor essors essive essively essible essibility;
	lusion lusions lusive lusively;
	tension tensions tensive tensively;
	use uses used using user usion usions usive usivity;
	nse nsely nsity nsities nsive nsively;
	ce ces ced cing cible;
	id idly idity;
	iform iformly iformity;
	ex exity exities;
	ify ifies ified ifying ifier ifiers ification ifications;
	ply plies plied plying plier pliers;
	logy logies logical logically logous;
	graphy graphic graphical graphics graph graphs;
	m ms mic mically;
	ol ols olic olically;
	iod iods iodic iodical iodically iodicity;
	abet abets abetic abetical abetically;
	gnet gnets gnetic gnetically;
	oid oids oidal;
	gon gons gonal;
	de des ded ding dance;
	ance ances ant ants antly ancy;
	ence ences ent ents ently ency encies ential`)

// differ are groups of words, apart by commas, of which those in one group mean other things than those in the next,
// though derivations would join them.
var differ = groups(
	"import imports imported importing, important importantly importance",
	"custom customs, customer customers",
	"engine engines, engineer engineers engineering",
	"object objects, objection objections, objective objectives objectively",
	"subject subjects, subjective subjectively",
	"respect respects, respective respectively",
	"success successes, succession successive successively successor successors",
	"ration rations rationed, rational rationally",
	"direct directly directed directs directing direction directions, director directors",
	"relate relates related relating relation relations, relative relatively relatives relativity",
	"consist consists consisted consisting, consistent consistently consistence consistency",
	"present presents presented presenting presently, presence presentable",
	"convent conventions convention, conventional conventionally",
	"instant instants instantly, instance instances",
	"public publicly publication, publicity",
	"opera operas, operation operations operate operates operating operator operators",
	"comment comments commented commenting, commentation",
	"station stations, stationed",
)

// groups makes pairs of all words in different groups of a list.
func groups(lists ...string) map[[2]string]bool {
	m := map[[2]string]bool{}
	for _, list := range lists {
		var before []string
		for group := range strings.SplitSeq(list, ",") {
			words := strings.Fields(group)
			for _, a := range before {
				for _, b := range words {
					m[[2]string{a, b}], m[[2]string{b, a}] = true, true
				}
			}
			before = append(before, words...)
		}
	}
	return m
}

// derived reports whether two folded English forms with one stem, which are not inflections of one word, still speak of
// one thing: structure and structural, compute and computer.
func derived(a, b string) bool {
	return !differ[[2]string{a, b}] && share(English, derivations, a, b)
}
