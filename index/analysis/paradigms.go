// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"
	"strings"
)

// paradigms are, by language, sets of endings that one word takes: two forms of one stem are forms of one word if one
// set has the ending of both after a common beginning. "" is written 0. They have the endings of inflection and, for
// English, derivations that rarely change what is looked for: install, installation; quick, quickly. Derivations that
// may change it are left out: -ity, -al, -ive, -ize, -er, -ic (universe, university; organ, organize, organic;
// comprehension, comprehensive; custom, customer); derived.go has those that are safe. Endings are folded, like words.
//
// Agglutinating languages (Finnish, Hungarian, Turkish, Tamil) have too many endings to list; there nil means that a
// common beginning is enough (see Related).
var paradigms = [languageEnd][][]string{
	English: endings(`
		0 s es ed ing ings ly ation ations ion ions ment ments ness nesses;
		e es ed ing ings ely ation ations ion ions ement ements eness;
		y ies ied ying ily iness yings;
		ie ies ied ying;
		ic ically ics;
		le ly les;
		al ally als`),
	German: endings(`
		0 e en em er es n s ern ere eren erer eres erem ste sten ster stes est t te ten tet test st end ende enden
		ender endes endem;
		0 se ses sen;
		e ste sten ster stes eres ere eren erer;
		el eln le len els elt elte;
		er ern re ren ers ere eren erer eres`),
	French: endings(`
		0 s e es x;
		e es er ee ees ez eant eait eaient eons ent ant ait aient ais ai as a ons ions era erai erons eront erait
		ants ante antes;
		al ale ales aux;
		el elle els elles;
		il ille ils illes;
		en enne ens ennes;
		on onne ons onnes;
		eur euse eurs euses eure eures;
		eux euse euses;
		if ive ifs ives;
		er ere ers eres;
		ir i ie is ies it issent issant issait issaient ira irait issons issez;
		re s t ent u ue us ues ant ait;
		et ette ets ettes;
		c che cs ches que ques;
		oir oit oivent u ue us ues`),
	Spanish: endings(`
		0 s es a as o os e;
		ar o as a amos ais an e es en emos aba abas aban abamos ando ado ada ados adas ara aran are aremos aria
		arian aron arse arlo arla arlos arlas ase asen;
		er ir o es e emos imos en ia ias ian iamos iendo ido ida idos idas io ieron era eran ere eria erian ira iran
		iria irian a an iera ieran erse irse;
		z ces;
		on ones;
		cion ciones;
		mente 0 a;
		amente o a os as`),
	Italian: endings(`
		o a i e he hi 0;
		are o i a iamo ate ano ando ato ata ati ava avano avo ai arono era eranno erebbe erebbero armi arsi arlo
		arla;
		ere ire o i e iamo ete ite ono endo uto uta uti ute ito ita iti eva evano iva ivano erono irono era eranno
		ira iranno isce iscono isco;
		mente e 0;
		amente o a i e;
		io i ia ie;
		co ci che chi ca;
		go gi ghe ghi ga`),
	Portuguese: endings(`
		0 s es a as o os e;
		ao oes aos;
		m ns;
		l is;
		el eis;
		il is eis;
		ar o as a amos am e es em emos ava avas avam avamos ando ado ada ados adas ara aram arao are aria ariam ou
		asse assem ares armos arem;
		er ir o es e emos imos em ia ias iam iamos endo indo ido ida idos idas eu iu eram iram era ira erao irao
		eria iria eriam iriam a am esse isse erem irem;
		mente 0 a;
		amente o a os as`),
	Dutch: endings(`
		0 e en s er ers ere t te ten de den end ende st ste;
		f ve ven fs;
		s ze zen;
		heid heden`),
	Swedish: endings(`
		0 a ar arna arnas ars as ad ade ades ande andet at e en ens er erna ernas ers es et ets na nas n ns or orna
		s t ts is are ast aste r te tes it;
		el ler lar len eln lerna larna els lers`),
	Danish: endings(`
		0 e en ens er erne ernes ers es et ets ede ende endes eren eret ere erer ered s t te tes n ns r rne rnes ne
		nes est este;
		el ler len lerne els elen;
		er re ren rene ers`),
	Norwegian: endings(`
		0 e en ens er ene enes ers es et ets ede ende a as ane ar ast ert s t te n ns r ne nes est este ere;
		el ler len lene els elen;
		er re ren rene ers`),
	Romanian: endings(`
		0 a e i le lor ul ului uri urile urilor ii iilor iile ei elor ele ilor ile u ua l lui o;
		ie ia ii iei iile iilor;
		iune iunea iuni iunii iunile iunilor iunei;
		a are at ate ata ati ai am au and easa eaza ez ezi ari arii area arile arilor arei e asera ase;
		e ere ut ute uta uti i em eau ind easca esc esti este ire it ite ita iti iri irea irii`),
	Russian: endings(`
		0 а я о е и ы у ю ь й ой ей ем ом ам ям ами ями ах ях ов ев ия ие ии ию ий ием иям иями иях ью ья ье ьи ьев
		ьям;
		ый ий ой ая яя ое ее ые ие ого его ому ему ым им ом ем ую юю ых их ыми ими ою ею 0 а о ы е и;
		ть л ла ло ли т ет ит ют ят ем им ете ите ешь ишь ю у и й йте в вши вший я а ают яют ает яет аем яем ать ять
		еть ить ал ала ало али ил ила ило или ут ся лся лась лось лись тся ться ется ится ются ятся уют ует уется
		уются овать ован овано овали овал н на но ны нный нная нное нные ного нных нной ным ными ен ена ено ены
		енный енная енное енные енного енных енной енным енными ющий ющая ющее ющие ющих емый емая емое емые;
		ка ки ку ке кой ок кам ками ках;
		ец ца цу це цы цев цом;
		ния ние нии нию ний нием ниям ниями ниях`),
	Irish: endings(`
		0 a e i ta te anna the tha acha adh ann eann ear aimid imid as aigh igh ai`),
}

// endings reads sets of endings that are apart by semicolons.
func endings(sets string) (list [][]string) {
	for set := range strings.SplitSeq(sets, ";") {
		words := strings.Fields(set)
		for i, w := range words {
			if w == "0" {
				words[i] = ""
			}
		}
		slices.Sort(words)
		list = append(list, slices.Compact(words))
	}
	return list
}
