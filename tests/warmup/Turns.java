// SPDX-License-Identifier: MIT
// A loop whose first turn loads many classes, and runs code of theirs that is interpreted; with
// "warm" that is done before the loop. See real.py.
import java.io.ByteArrayInputStream;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import javax.net.ssl.SSLContext;
import javax.xml.parsers.DocumentBuilderFactory;

public class Turns {
	static long load(int count) {
		long x = 1;
		for (int i = 0; i < count; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	static long serve() throws Exception {
		byte[] text = "<a><b c='d'>e</b></a>".getBytes();
		int nodes = DocumentBuilderFactory.newInstance().newDocumentBuilder()
				.parse(new ByteArrayInputStream(text)).getElementsByTagName("*").getLength();
		String date = ZonedDateTime.parse("2024-05-06T07:08:09+01:00[Europe/Paris]")
				.format(DateTimeFormatter.ofPattern("EEEE d MMMM uuuu, HH:mm z", Locale.FRANCE));
		return nodes + date.length() + SSLContext.getDefault().getProtocol().length();
	}

	static long work(int count) {
		long x = 1;
		for (int i = 0; i < count; i++) {
			x ^= x << 7;
			x ^= x >> 9;
		}
		return x;
	}

	public static void main(String[] args) throws Exception {
		long sum = args[0].equals("warm") ? serve() : 0;
		for (int turn = 0; turn < 40; turn++) {
			sum += load(6000000);
			sum += serve();
			sum += work(6000000);
		}
		System.out.println(sum);
	}
}
