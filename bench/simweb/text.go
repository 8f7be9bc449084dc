// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"math"
	"strings"
)

// language is a vocabulary with the habits of its script.
type language struct {
	tag   string
	words []string
	space string
	stop  string
}

// languages are the tongues of the web: five of eight hosts speak English, one each the others.
var languages = []language{
	{"en", strings.Fields(english), " ", ". "},
	{"de", strings.Fields(german), " ", ". "},
	{"zh", strings.Fields(chinese), "", "。"},
	{"ru", strings.Fields(russian), " ", ". "},
}

const english = `harbour net boat seine mackerel tide crew rope anchor lantern weather storm pilot cargo quay fog gull sail mast keel
	rudder hull tar salt barrel market auction price winter spring herring shoal current wave beacon chart compass knot line hook bait catch
	haul deck captain mate cook galley engine oar row drift shore sand cliff cove inlet river estuary bridge ferry island village church school
	street house window door light morning evening night fish smoke fire bread soup story song letter news radio signal flag port starboard
	the of and to in is on for with that was at by from it they were when where after before under over near new old good small large early late
	repair mend build paint carry bring watch wait sell buy eat drink talk walk sleep dream remember forget learn teach write read count measure`

const german = `Hafen Netz Boot Wadennetz Makrele Flut Ebbe Mannschaft Tau Anker Laterne Wetter Sturm Lotse Ladung Kai Nebel Möwe Segel Mast Kiel Ruder
	Rumpf Teer Salz Fass Markt Preis Winter Frühling Hering Schwarm Strömung Welle Leuchtfeuer Karte Kompass Knoten Leine Haken Köder Fang Deck Kapitän
	der die das und zu in ist auf für mit dass war bei von es sie wenn wo nach vor unter über neu alt gut klein groß früh spät flicken bauen malen
	tragen bringen wachen warten verkaufen kaufen essen trinken reden gehen schlafen träumen Straße Haus Fenster Tür Licht Morgen Abend Nacht Fisch Rauch`

const chinese = `港口 渔网 小船 围网 鲭鱼 潮水 船员 绳子 锚 灯笼 天气 风暴 领航 货物 码头 雾 海鸥 帆 桅杆 龙骨 舵 船体 焦油 盐 木桶 市场 价格 冬天 春天 鲱鱼 鱼群 水流
	波浪 灯塔 海图 罗盘 绳结 钓线 鱼钩 鱼饵 渔获 甲板 船长 的 和 在 是 了 我们 他们 早晨 晚上 夜里 新 旧 小 大 修补 建造 等待 卖 买 吃 喝 说 走 睡 街道 房子 窗户`

const russian = `гавань сеть лодка невод скумбрия прилив отлив команда верёвка якорь фонарь погода шторм лоцман груз причал туман чайка парус мачта киль руль
	корпус смола соль бочка рынок цена зима весна сельдь косяк течение волна маяк карта компас узел леска крючок наживка улов палуба капитан и в на с что был
	это они когда где после до под над новый старый хороший маленький большой рано поздно чинить строить ждать продать купить есть пить говорить идти спать`

// word draws a word as languages do: the n-th most common about 1/n as often as the first (Zipf).
func (l *language) word(r *rng) string {
	n := len(l.words)
	return l.words[min(int(math.Exp(r.share()*math.Log(float64(n)+1)))-1, n-1)]
}

// appendText appends about n bytes of paragraphs.
func (l *language) appendText(dst []byte, r *rng, n int) []byte {
	for end := len(dst) + n; len(dst) < end; {
		dst = append(dst, "<p>"...)
		for range 3 + r.below(4) {
			for i := range 6 + r.below(12) {
				if i > 0 {
					dst = append(dst, l.space...)
				}
				dst = append(dst, l.word(r)...)
			}
			dst = append(dst, l.stop...)
		}
		dst = append(dst, "</p>\n"...)
	}
	return dst
}

// phrase is a few words: a title or an anchor.
func (l *language) phrase(r *rng, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = l.words[r.below(len(l.words))]
	}
	return strings.Join(words, l.space)
}
