// SPDX-License-Identifier: Apache-2.0

//! The crawler that people write with spider: every link of every host, each URL once, robots.txt obeyed. It keeps
//! nothing of the pages. Names come from /etc/hosts: see with-hosts.sh.
//!
//! A Website of spider is one host. It can follow links to others, but then resolves the relative links of their pages
//! against its own host, so half of its requests are for pages that do not exist. Therefore there is one Website for
//! each host of the hosts file, and as many of them work as there may be requests at once, with one request each.
//!
//!     spider-peer SEED HOSTS-FILE CONCURRENCY MAX-PAGES-OF-A-HOST

use std::sync::Arc;

use spider::tokio;
use spider::tokio::sync::Semaphore;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seed, hosts, concurrency, max] = args.as_slice() else {
        fail("usage: spider-peer SEED HOSTS-FILE CONCURRENCY MAX-PAGES-OF-A-HOST");
    };
    let (Ok(concurrency), Ok(max)) = (concurrency.parse::<usize>(), max.parse::<u32>()) else {
        fail("spider-peer: CONCURRENCY and MAX-PAGES-OF-A-HOST must be numbers");
    };
    let text = std::fs::read_to_string(hosts)
        .unwrap_or_else(|e| fail(&format!("spider-peer: reading the hosts file {hosts}: {e}")));
    let port = match seed.trim_end_matches('/').rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => format!(":{port}"),
        _ => String::new(),
    };

    let at_once = Arc::new(Semaphore::new(concurrency));
    let mut crawls = Vec::new();
    for name in text.lines().flat_map(|line| line.split_whitespace().skip(1)) {
        let mut website = Website::new(&format!("http://{name}{port}/"));
        website
            .with_respect_robots_txt(true)
            .with_ignore_sitemap(true)
            .with_delay(0)
            .with_depth(0)
            .with_concurrency_limit(Some(1));
        if max > 0 {
            website.with_limit(max);
        }
        let at_once = at_once.clone();
        crawls.push(tokio::spawn(async move {
            let _permit = at_once.acquire_owned().await;
            website.crawl().await;
            website.get_size().await
        }));
    }
    let mut links = 0;
    for crawl in crawls {
        links += crawl.await.unwrap_or_else(|e| fail(&format!("spider-peer: {e}")));
    }
    println!("{links} links");
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(1);
}
