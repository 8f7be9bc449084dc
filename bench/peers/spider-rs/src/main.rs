// SPDX-License-Identifier: Apache-2.0

//! The crawler that one writes with spider: every link on every host of the web, each URL once,
//! robots.txt obeyed. It keeps nothing of the pages.
//!
//!     spider-peer SEED HOSTS-FILE CONCURRENCY MAX-PAGES

use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seed, hosts, concurrency, max] = args.as_slice() else {
        eprintln!("usage: spider-peer SEED HOSTS-FILE CONCURRENCY MAX-PAGES");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(hosts).unwrap_or_else(|e| {
        eprintln!("spider-peer: reading the hosts file {hosts}: {e}");
        std::process::exit(1);
    });
    // Spider stays on the seed's host unless others are named.
    let port = seed.trim_end_matches('/').rsplit(':').next().unwrap_or("80");
    let others: Vec<String> = text
        .lines()
        .flat_map(|line| line.split_whitespace().skip(1))
        .map(|name| format!("http://{name}:{port}"))
        .collect();

    let mut website = Website::new(seed);
    website
        .with_respect_robots_txt(true)
        .with_ignore_sitemap(true)
        .with_delay(0)
        .with_depth(0)
        .with_concurrency_limit(concurrency.parse().ok())
        .with_external_domains(Some(others.into_iter()));
    match max.parse() {
        Ok(0) | Err(_) => {}
        Ok(n) => {
            website.with_limit(n);
        }
    }
    website.crawl().await;
    println!("{} links", website.get_size().await);
}
