// SPDX-License-Identifier: Apache-2.0
// Starts Solr with one core "pages" from Maven's jars: Solr HOME PORT. It ends with its standard input.

import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

public class Solr {
	public static void main(String[] args) throws Exception {
		JettySolrRunner jetty = new JettySolrRunner(args[0],
			JettyConfig.builder().setPort(Integer.parseInt(args[1])).setContext("/solr").build());
		jetty.start();
		System.out.println("started");
		while (System.in.read() >= 0) {}
		jetty.stop();
	}
}
