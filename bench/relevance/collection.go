// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"archive/tar"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ulikunitz/xz"
)

// Document is a document of a collection.
type Document struct{ ID, Title, Text string }

// Topic is a question with its judgements.
type Topic struct {
	ID, Text string
	Gains    Gains
}

// Collection is documents with topics.
type Collection struct {
	Name      string
	Documents []Document
	Topics    []Topic
}

// Search returns the identifiers of the best k documents for a query, best first.
type Search func(query string, k int) ([]string, error)

// Half says which topics count: weights are chosen on one half and reported on the other.
type Half string

// The halves, by the topic's place in the collection, from 1.
const (
	All  Half = "all"
	Odd  Half = "odd"
	Even Half = "even"
)

// Halves are all values of Half.
var Halves = []Half{All, Odd, Even}

func (h Half) has(place int) bool { return h == All || (h == Odd) == (place%2 == 1) }

// Depth is the number of documents that a topic is judged by, as usual with trec_eval.
const Depth = 1000

// Scores are the means over topics that have relevant documents.
type Scores struct {
	Topics, Judged int // topics; those of them with relevant documents
	Empty          int // topics, judged or not, for which the engine found nothing
	MAP            float64
	NDCG10, P10    float64
}

// Run sends the topics of a half to an engine.
func (c *Collection) Run(search Search, half Half) (s Scores, err error) {
	for i, t := range c.Topics {
		if !half.has(i + 1) {
			continue
		}
		ranked, err := search(t.Text, Depth)
		if err != nil {
			return s, fmt.Errorf("%s, topic %s: %w", c.Name, t.ID, err)
		}
		s.Topics++
		if len(ranked) == 0 {
			s.Empty++
		}
		if t.Gains.relevant() == 0 {
			continue
		}
		s.Judged++
		s.MAP += AveragePrecision(ranked, t.Gains)
		s.NDCG10 += NDCG(ranked, t.Gains, 10)
		s.P10 += Precision(ranked, t.Gains, 10)
	}
	if n := float64(s.Judged); n > 0 {
		s.MAP, s.NDCG10, s.P10 = s.MAP/n, s.NDCG10/n, s.P10/n
	}
	return s, nil
}

// readArchive returns the files of a .tar.xz archive in its order.
func readArchive(name string) (names []string, files map[string]string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := xz.NewReader(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	files = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, files, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, path.Base(h.Name))
		files[path.Base(h.Name)] = string(data)
	}
}

// records cuts a file of Cranfield's format (".I 1", ".T", lines, and so on) into records, maps from field to text.
func records(text string) (list []map[byte]string) {
	var field byte
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, ".I "):
			list = append(list, map[byte]string{})
			field = 0
		case len(strings.TrimSpace(line)) == 2 && line[0] == '.' && line[1] >= 'A' && line[1] <= 'Z':
			field = line[1]
		case len(list) > 0 && field != 0:
			list[len(list)-1][field] += line
		}
	}
	return list
}

// Cranfield reads the collection of Cleverdon's second Cranfield experiment: 1,400 abstracts about aerodynamics and 225
// questions. Judgements name a topic by its place in the file, not by its number. Their codes fall while relevance
// rises, from 1 (a complete answer) to 4 (of minimum interest), so the degree is 5 less the code; -1 marks documents
// that are not relevant.
func Cranfield(archive string) (c Collection, err error) {
	c.Name = "cranfield"
	_, files, err := readArchive(archive)
	if err != nil {
		return c, err
	}
	for i, r := range records(files["cran.all.1400"]) {
		c.Documents = append(c.Documents, Document{strconv.Itoa(i + 1), oneLine(r['T']), oneLine(r['W'])})
	}
	for i, r := range records(files["cran.qry"]) {
		c.Topics = append(c.Topics, Topic{strconv.Itoa(i + 1), oneLine(r['W']), Gains{}})
	}
	for line := range strings.Lines(files["cranqrel"]) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		topic, code, err := judgement(f, 0, 2)
		if err != nil || topic < 1 || topic > len(c.Topics) {
			return c, fmt.Errorf("%s: judgement %q is not of a topic: %w", archive, line, err)
		}
		if code > 0 {
			code = 5 - code
		}
		c.Topics[topic-1].Gains[f[1]] = code
	}
	return c, c.check(archive, 1400, 225)
}

// judgement reads two numbers of a line of judgements.
func judgement(f []string, topic, code int) (t, c int, err error) {
	if len(f) <= max(topic, code) {
		return 0, 0, errors.New("too few fields")
	}
	t, err1 := strconv.Atoi(f[topic])
	c, err2 := strconv.Atoi(f[code])
	return t, c, errors.Join(err1, err2)
}

var (
	tag       = regexp.MustCompile(`<[^>]*>`)
	citation  = regexp.MustCompile(`(?m)^\d+\t\d+\t\d+\s*$`)
	paragraph = regexp.MustCompile(`\n\s*\n`)
	topicForm = regexp.MustCompile(`(?s)<DOCNO>\s*(\d+)\s*</DOCNO>(.*?)</DOC>`)
)

// CACM reads the collection of the Communications of the ACM: 3,204 records and 64 questions, of which 52 are judged.
// The title is a record's first paragraph. The lines of three numbers that say which records cite each other are left
// out.
func CACM(archive string) (c Collection, err error) {
	c.Name = "cacm"
	names, files, err := readArchive(archive)
	if err != nil {
		return c, err
	}
	for _, name := range names {
		id, found := strings.CutSuffix(name, ".html")
		if !found {
			continue
		}
		text := html.UnescapeString(tag.ReplaceAllString(citation.ReplaceAllString(files[name], ""), ""))
		parts := paragraph.Split(strings.TrimSpace(text), 2)
		d := Document{ID: id, Title: oneLine(parts[0])}
		if len(parts) == 2 {
			d.Text = oneLine(parts[1])
		}
		c.Documents = append(c.Documents, d)
	}
	for i, m := range topicForm.FindAllStringSubmatch(files["topics.cacm.txt"], -1) {
		if m[1] != strconv.Itoa(i+1) {
			return c, fmt.Errorf("%s: topic %s stands at place %d", archive, m[1], i+1)
		}
		c.Topics = append(c.Topics, Topic{m[1], oneLine(m[2]), Gains{}})
	}
	for line := range strings.Lines(files["qrels.cacm.txt"]) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		topic, code, err := judgement(f, 0, 3)
		if err != nil || topic < 1 || topic > len(c.Topics) {
			return c, fmt.Errorf("%s: judgement %q is not of a topic: %w", archive, line, err)
		}
		c.Topics[topic-1].Gains[f[2]] = code
	}
	return c, c.check(archive, 3204, 64)
}

// check reports a collection that is not whole.
func (c *Collection) check(archive string, documents, topics int) error {
	if len(c.Documents) != documents || len(c.Topics) != topics {
		return fmt.Errorf("%s has %d documents and %d topics, want %d and %d",
			archive, len(c.Documents), len(c.Topics), documents, topics)
	}
	return nil
}

// oneLine folds white space: a collection breaks its lines where a card ended.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Sorted returns the documents in the order of their identifiers.
func Sorted(docs []Document) []Document {
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.ID, b.ID) })
	return docs
}
