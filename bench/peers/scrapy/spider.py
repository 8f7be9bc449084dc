# SPDX-License-Identifier: Apache-2.0
"""The crawler that people write with Scrapy: a CrawlSpider that follows every link on every host, with the settings of
Scrapy's page on broad crawls. Scrapy filters duplicates and obeys robots.txt. It keeps nothing of the pages.

    scrapy runspider spider.py -a seed=URL -a hosts=FILE [-s CONCURRENT_REQUESTS=32] [-s CLOSESPIDER_PAGECOUNT=N]
"""

from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import dnscache
from scrapy.spiders import CrawlSpider, Rule


class PeerSpider(CrawlSpider):
    name = "peer"
    rules = [Rule(LinkExtractor(), follow=True)]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }

    def __init__(self, seed, hosts, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [seed]
        # Scrapy looks into its cache before it resolves a name, so connections are direct.
        with open(hosts, encoding="utf-8") as f:
            for line in f:
                address, *names = line.split()
                for host in names:
                    dnscache[host] = address
