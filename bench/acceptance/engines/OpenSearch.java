// SPDX-License-Identifier: Apache-2.0
// Starts a node of OpenSearch from Maven's jars: OpenSearch FOLDER PORT. It ends with its standard input.

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

public class OpenSearch {
	static class Single extends Node {
		Single(Environment e) {
			super(e, List.of(Netty4Plugin.class), false);
		}
	}

	public static void main(String[] args) throws Exception {
		Settings s = Settings.builder().put("path.home", args[0]).put("http.port", args[1])
			.put("network.host", "127.0.0.1").put("transport.port", "0").put("discovery.type", "single-node")
			.put("node.name", "single").put("transport.type", "netty4").put("http.type", "netty4")
			.put("cluster.routing.allocation.disk.threshold_enabled", false).build();
		Node node = new Single(InternalSettingsPreparer.prepareEnvironment(s, Map.of(), null, () -> "single"));
		node.start();
		System.out.println("started");
		while (System.in.read() >= 0) {}
		node.close();
	}
}
