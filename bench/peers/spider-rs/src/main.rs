// SPDX-License-Identifier: Apache-2.0

//! The crawler that one writes with spider: every link on every host of the web, each URL once,
//! robots.txt obeyed. It keeps nothing of the pages. Names come from /etc/hosts: see with-hosts.sh.
//!
//!     spider-peer SEED CONCURRENCY MAX-PAGES

use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seed, concurrency, max] = args.as_slice() else {
        eprintln!("usage: spider-peer SEED CONCURRENCY MAX-PAGES");
        std::process::exit(2);
    };
    let mut website = Website::new(seed);
    website
        .with_respect_robots_txt(true)
        .with_ignore_sitemap(true)
        .with_delay(0)
        .with_depth(0)
        .with_concurrency_limit(concurrency.parse().ok())
        .with_external_domains(Some(std::iter::once("*".to_string())));
    match max.parse() {
        Ok(0) | Err(_) => {}
        Ok(n) => {
            website.with_limit(n);
        }
    }
    website.crawl().await;
    println!("{} links", website.get_size().await);
}
