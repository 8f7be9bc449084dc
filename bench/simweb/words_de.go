// SPDX-License-Identifier: Apache-2.0

package simweb

var germanWords = language{
	tag: "de", dir: "ltr", space: " ",
	gaps: map[byte]string{
		'f': "Heringe|Makrelen|Dorsche|Schollen|Sprotten|Lachse|Aale|Hummer|Krebse|Muscheln|Austern|Sardinen|Garnelen|Barsche|Zander|Flundern",
		'b': "Kutter|Fischkutter|Schlepper|Kahn|Küstendampfer|Segler|Lotsenkutter|Frachter|Dampfer|Schoner|Ewer|Krabbenkutter",
		'B': "Seestern|Gute Hoffnung|Drei Brüder|Morgenröte|Silbermöwe|Alte Liebe|Nordlicht|Wildgans|Geduld|Anna Katharina",
		'g': "Netz|Wadennetz|Treibnetz|Tau|Ruder|Segel|Kompassgehäuse|Beiboot|Steuerrad|Ankerseil|Fernglas|Logbuch",
		'w': "Nebel|Sturm|Regen|Wind|Hagel|Frost|Seegang|Sonnenschein|Nieselregen|Schneefall|Nordwind|Donner",
		'n': "Kapitän|Fischer|Lotse|Hafenmeister|Koch|Steuermann|Händler|Netzflicker|Bootsbauer|Leuchtturmwärter|Lehrling|Fährmann",
		'a': "alte|neue|kleine|stille|graue|schwere|kalte|helle|enge|tiefe|nasse|geduldige|große|frühe|späte|salzige",
		't': "Sonnenaufgang|Mittag|Hochwasser|Mitternacht|Ebbe|Sonnenuntergang|Tagesanbruch|vier Uhr|Feierabend",
		'd': "Fischsuppe|Räucheraal|Brot|Labskaus|Matjes|Kartoffeln|Bratheringe|Tee|Butter|Grünkohl|Krabbensalat",
	},
	placeA:  "Brack|Falken|Sand|Dorn|Möwen|Holm|Stein|Eschen|Kalten|Salz|Raben|Nieder|Ober|Lang|Schären|Austern|Treib|Alten|Neuen|Grau|Wester|Oster|Süder|Deich",
	placeB:  "hafen|bucht|münde|siel|büttel|fähre|insel|sund|brück|haven|kirchen|strand",
	between: " in ", home: "Startseite", generic: "mehr|weiterlesen|hier|hier klicken|weiter|Einzelheiten", updated: "Geändert",
	topics: [topics]topic{
		{"Heringsfang|Wadennetze|Nachtfischerei|Langleinen und Haken|Die Hummerzeit|Dorschgründe|Netze flicken|Fang und Quote", `
			Der $n setzt das $g vor $t und holt $N Körbe $f ein.
			Ein Schwarm $f zog nahe am Ufer von $p vorbei.
			Auf dem $b $B flicken die Männer ihre Netze und warten auf die Flut.
			So viele $f hat man seit dem Winter mit dem großen $w nicht gesehen.
			Mit einem $g von $N Faden fischen zwei Leute die ganze Bucht von $p ab.`},
		{"Sturmwarnung|Nebel an der Küste|Gezeitentafel|Wind und Seegang|Wetter im Winter|Wolken lesen|Frost im Hafen|Ein Jahr voller Stürme", `
			Vor $t wird in $p ein Sturm mit $w und hohem Seegang erwartet.
			Der $n liest das Wetter an den Möwen ab und irrt sich selten.
			Nach $N Tagen $w klarte der Himmel auf, und der $b konnte auslaufen.
			Hochwasser ist in $p um $t; unter der Brücke ist die Strömung stark.
			Der $a Leuchtturm ist im Nebel von $p aus nicht zu sehen.`},
		{"Holzboote|Ein Boot bauen|Der letzte Schoner|Motor und Segel|Den Rumpf streichen|Fahrplan der Fähre|Rettungsboot|Taue und Knoten", `
			Der $b $B wurde in $p aus Eiche und Lärche gebaut.
			Der Rumpf ist $N Fuß lang, und das $a Segel hält noch.
			Ein $n streicht einen $b in drei Tagen, wenn kein $w kommt.
			Jedes Frühjahr teert der $n die Nähte und prüft das $g.
			Die Fähre nach $p fährt nach $t ab und nimmt $N Leute mit.`},
		{"Der alte Hafen|Hafengebühren|Weg zum Leuchtturm|Kai und Kran|Lotsen der Mündung|Die Sturmflut von 1907|Der Netzboden|Ankerplätze", `
			Der Hafen von $p hat eine $a Mole und Platz für $N Boote.
			Der $n fragt jeden $b nach Namen, Ladung und Gebühren.
			Ein $g hängt bis $t an der Hafenmauer zum Trocknen.
			Hinter dem Hafen steigt die Straße zur Kirche von $p an.
			Im Sturm riss sich der $b $B los und trieb bis $p.`},
		{"Preise am Fischmarkt|Die Auktion am Morgen|Salz und Fässer|Käufer und Verkäufer|Ein gerechter Preis|Eis und Transport|Markttag|Handel mit den Inseln", `
			Auf dem Markt von $p kostete eine Kiste $f heute $N Taler.
			Die Auktion beginnt nach $t, und der $n bietet nie zuerst.
			Der Preis für $f stieg wegen $w vor $p.
			Das Salz kommt mit dem $b aus $p in Fässern zu $N Pfund.
			Was bis $t nicht verkauft ist, kommt in die Räucherei.`},
		{"Suppe und Brot|Geräucherte Makrele|Eingelegte Heringe|Der Schiffskoch|Fischauflauf am Sonntag|Muscheln in Wein|Tee um vier|Backen für die Mannschaft", `
			Man nehme $N Pfund $f, etwas Butter und eine $a Zwiebel.
			Der $n der $B ist für $d und $d bekannt.
			Die Speise wird heiß mit $d vor $t aufgetragen.
			In $p isst man $f mit $d, wenn $w herrscht.
			Kein $b verlässt $p ohne $d für die ganze Mannschaft.`},
	},
}
