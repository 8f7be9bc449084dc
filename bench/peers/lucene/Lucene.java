// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.store.FSDirectory;

/**
 * Lucene under bench/peers' protocol for search engines (see programs.go):
 *
 * <pre>
 *   Lucene build DIR &lt;documents     lines of ID tab TITLE tab TEXT
 *   Lucene search DIR &lt;queries      lines of MODE tab K tab QUERY, answered by µs tab TOTAL tab ID ID …
 * </pre>
 *
 * One field with frequencies and positions, English stems; nothing is stored but the identifier. Stop words are indexed;
 * typed queries are searched without EnglishAnalyzer's stop words, as Lucene's users do. Scores are BM25 with Lucene's defaults (k1 1.2, b 0.75).
 */
public final class Lucene {
  private static final Analyzer ENGLISH = new EnglishAnalyzer(CharArraySet.EMPTY_SET);
  private static final Analyzer TYPED = new EnglishAnalyzer();

  public static void main(String[] args) throws Exception {
    if (args.length == 2 && args[0].equals("build")) {
      build(Path.of(args[1]));
    } else if (args.length == 2 && args[0].equals("search")) {
      search(Path.of(args[1]));
    } else {
      System.err.println("usage: Lucene build|search DIR");
      System.exit(2);
    }
  }

  private static BufferedReader input() {
    return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
  }

  private static void build(Path dir) throws IOException {
    FieldType text = new FieldType();
    text.setIndexOptions(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS);
    text.setTokenized(true);
    text.freeze();
    IndexWriterConfig config = new IndexWriterConfig(ENGLISH).setRAMBufferSizeMB(256);
    try (IndexWriter writer = new IndexWriter(FSDirectory.open(dir), config)) {
      BufferedReader in = input();
      for (String line; (line = in.readLine()) != null; ) {
        String[] f = line.split("\t", 3);
        Document d = new Document();
        d.add(new StringField("id", f[0], Field.Store.YES));
        d.add(new Field("text", f[2].startsWith(f[1]) ? f[2] : f[1] + " " + f[2], text));
        writer.addDocument(d);
      }
      writer.forceMerge(1);
    }
  }

  private static List<Term> words(String text, Analyzer analyzer) throws IOException {
    List<Term> out = new ArrayList<>();
    try (TokenStream s = analyzer.tokenStream("text", new StringReader(text))) {
      CharTermAttribute term = s.addAttribute(CharTermAttribute.class);
      s.reset();
      while (s.incrementToken()) {
        out.add(new Term("text", term.toString()));
      }
      s.end();
    }
    return out;
  }

  /** Reads {@code "a b"}, {@code +a +b} and {@code a b}. A word that occurs twice counts twice. */
  private static Query parse(String query, boolean typed) throws IOException {
    List<Term> terms = words(query, typed ? TYPED : ENGLISH);
    if (terms.size() == 1) {
      return new TermQuery(terms.get(0));
    }
    if (query.startsWith("\"")) {
      PhraseQuery.Builder phrase = new PhraseQuery.Builder();
      terms.forEach(phrase::add);
      return phrase.build();
    }
    BooleanClause.Occur occur = query.startsWith("+") ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD;
    BooleanQuery.Builder b = new BooleanQuery.Builder();
    for (Term t : terms) {
      b.add(new TermQuery(t), occur);
    }
    return b.build();
  }

  private static void search(Path dir) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (DirectoryReader reader = DirectoryReader.open(FSDirectory.open(dir))) {
      IndexSearcher searcher = new IndexSearcher(reader);
      searcher.setQueryCache(null);
      BufferedReader in = input();
      for (String line; (line = in.readLine()) != null; ) {
        String[] f = line.split("\t", 3);
        int k = Integer.parseInt(f[1]);
        boolean exact = !f[0].equals("pruned");
        long start = System.nanoTime();
        TopScoreDocCollectorManager best =
            new TopScoreDocCollectorManager(k, null, exact ? Integer.MAX_VALUE : k);
        TopDocs found = searcher.search(parse(f[2], f[0].equals("typed")), best);
        double took = (System.nanoTime() - start) / 1000.0;
        StoredFields stored = searcher.storedFields();
        StringBuilder ids = new StringBuilder();
        for (ScoreDoc d : found.scoreDocs) {
          ids.append(ids.length() == 0 ? "" : " ").append(stored.document(d.doc).get("id"));
        }
        out.printf("%.1f\t%d\t%s%n", took, exact ? found.totalHits.value : -1, ids);
      }
    }
  }
}
