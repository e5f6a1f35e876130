/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web server of Java's library with a pool of threads: Web PORT THREADS SLEEP_MS ROUNDS.
 * A request sleeps, and hashes a number of rounds.
 */
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.concurrent.Executors;

public class Web {
	static byte[] digest(int rounds) throws Exception
	{
		byte[] bytes = new byte[1024];
		MessageDigest hash = MessageDigest.getInstance("SHA-256");
		for (int i = 0; i < rounds; i++)
			hash.update(bytes);
		return hash.digest();
	}

	public static void main(String[] words) throws Exception
	{
		int threads = Integer.parseInt(words[1]), rounds = Integer.parseInt(words[3]);
		long sleepMs = Long.parseLong(words[2]);
		HttpServer server = HttpServer.create(
			new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 64);
		server.setExecutor(Executors.newFixedThreadPool(threads));
		server.createContext("/", exchange -> {
			try {
				Thread.sleep(sleepMs);
				byte[] body = digest(rounds);
				exchange.sendResponseHeaders(200, body.length);
				exchange.getResponseBody().write(body);
			} catch (Exception error) {
				exchange.sendResponseHeaders(500, -1);
			}
			exchange.close();
		});
		server.start();
	}
}
