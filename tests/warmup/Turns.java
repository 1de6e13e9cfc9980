// SPDX-License-Identifier: MIT
// A loop that is interpreted at first, and compiled later: see real.py.
public class Turns {
	static long load(int count) {
		long x = 1;
		for (int i = 0; i < count; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	static long work(int count) {
		long x = 1;
		for (int i = 0; i < count; i++) {
			x ^= x << 7;
			x ^= x >> 9;
		}
		return x;
	}

	public static void main(String[] args) {
		long sum = 0;
		for (int turn = 0; turn < 40; turn++) {
			sum += load(Integer.parseInt(args[0]));
			sum += work(Integer.parseInt(args[0]));
		}
		System.out.println(sum);
	}
}
