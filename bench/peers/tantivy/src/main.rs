// SPDX-License-Identifier: Apache-2.0

//! tantivy under bench/peers' protocol for search engines (see programs.go):
//!
//!     tantivy-peer build DIR <documents     lines of ID tab TITLE tab TEXT
//!     tantivy-peer search DIR <queries      lines of MODE tab K tab QUERY, answered by µs tab TOTAL tab ID ID …
//!
//! One field with frequencies and positions, English stems; nothing is stored but the identifier. Stop words are
//! indexed; typed queries are searched without tantivy's English stop words.

use std::io::{self, BufRead, BufWriter, Write};
use std::time::Instant;

use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::StrColumn;
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{
    Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use tantivy::{doc, Index, Term};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["build", dir] => build(dir),
        ["search", dir] => search(dir),
        _ => Err("usage: tantivy-peer build|search DIR".into()),
    }
}

fn analyzer() -> TextAnalyzer {
    let builder = TextAnalyzer::builder(SimpleTokenizer::default()).filter(RemoveLongFilter::limit(40));
    builder.filter(LowerCaser).filter(Stemmer::new(Language::English)).build()
}

/// The analyzer of typed queries.
fn typed_analyzer() -> TextAnalyzer {
    let stop = StopWordFilter::new(Language::English).expect("tantivy has English stop words");
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(stop)
        .filter(Stemmer::new(Language::English))
        .build()
}

fn build(dir: &str) -> Result<()> {
    let mut schema = Schema::builder();
    let text = schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("english")
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        ),
    );
    let id = schema.add_text_field("id", TextOptions::default().set_fast(None));
    std::fs::create_dir_all(dir)?;
    let index = Index::create_in_dir(dir, schema.build())?;
    index.tokenizers().register("english", analyzer());
    let mut writer = index.writer_with_num_threads(1, 256 << 20)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let parts: Vec<&str> = line.splitn(3, '\t').collect();
        let [name, title, body] = parts.as_slice() else {
            return Err("want ID, TITLE and TEXT".into());
        };
        let whole = if body.starts_with(title) { body.to_string() } else { format!("{title} {body}") };
        writer.add_document(doc!(id => *name, text => whole))?;
    }
    writer.commit()?;
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(())
}

/// The words of a text as the index has them.
fn words(mut a: TextAnalyzer, text: &str, field: Field) -> Vec<Term> {
    let mut stream = a.token_stream(text);
    let mut out = Vec::new();
    while stream.advance() {
        out.push(Term::from_field_text(field, &stream.token().text));
    }
    out
}

fn term_query(t: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(t, IndexRecordOption::WithFreqs))
}

/// Reads `"a b"`, `+a +b` and `a b`. A word that occurs twice counts twice.
fn parse(query: &str, field: Field, typed: bool) -> Box<dyn Query> {
    let mut terms = words(if typed { typed_analyzer() } else { analyzer() }, query, field);
    if terms.len() == 1 {
        return term_query(terms.remove(0));
    }
    if query.starts_with('"') {
        return Box::new(PhraseQuery::new(terms));
    }
    let occur = if query.starts_with('+') { Occur::Must } else { Occur::Should };
    Box::new(BooleanQuery::new(terms.into_iter().map(|t| (occur, term_query(t))).collect()))
}

fn search(dir: &str) -> Result<()> {
    let index = Index::open_in_dir(dir)?;
    let field = index.schema().get_field("text")?;
    let searcher = index.reader()?.searcher();
    let ids: Vec<StrColumn> = searcher
        .segment_readers()
        .iter()
        .map(|s| Ok(s.fast_fields().str("id")?.ok_or("no column of identifiers")?))
        .collect::<Result<_>>()?;
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let parts: Vec<&str> = line.splitn(3, '\t').collect();
        let [mode, k, text] = parts.as_slice() else {
            return Err("want MODE, K and QUERY".into());
        };
        let top = TopDocs::with_limit(k.parse()?).order_by_score();
        let start = Instant::now();
        let query = parse(text, field, *mode == "typed");
        let (hits, total) = match *mode {
            "pruned" => (searcher.search(&query, &top)?, -1),
            _ => {
                let (hits, total) = searcher.search(&query, &(top, Count))?;
                (hits, total as i64)
            }
        };
        let took = start.elapsed();
        let mut names = Vec::new();
        for (_, at) in &hits {
            let column = &ids[at.segment_ord as usize];
            let mut name = String::new();
            if let Some(ord) = column.term_ords(at.doc_id).next() {
                column.ord_to_str(ord, &mut name)?;
            }
            names.push(name);
        }
        writeln!(out, "{:.1}\t{}\t{}", took.as_nanos() as f64 / 1000.0, total, names.join(" "))?;
        out.flush()?;
    }
    Ok(())
}
