"""Scrapy on the same pages: `python with_scrapy.py PORT HOSTS`. Prints the pages fetched."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess

PORT, HOSTS = int(sys.argv[1]), int(sys.argv[2])


class Spider(scrapy.Spider):
    name = "speed"
    start_urls = [f"http://127.0.1.{host}:{PORT}/" for host in range(1, HOSTS + 1)]
    count = 0

    def parse(self, response):
        Spider.count += 1
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)


process = CrawlerProcess({
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": 0,
})
process.crawl(Spider)
process.start()
print(Spider.count)
