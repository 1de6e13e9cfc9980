# SPDX-License-Identifier: MIT
"""Quotes are asked for over sockets, by tasks of one event loop."""
import asyncio
import socket
import sys
import threading
import time

REQUESTS = 60
ANSWER_S = 0.02


def serve(listener):
    def answer(connection):
        with connection:
            connection.recv(100)
            time.sleep(ANSWER_S)
            connection.sendall(b"7\n")

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


async def quote_blocking(address):
    with socket.create_connection(address) as connection:
        connection.sendall(b"?\n")
        return int(connection.recv(100))  # fault: PY-LOOP


async def quote(address):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"?\n")
    answer = int(await reader.readline())
    writer.close()
    return answer


async def ask(one, address):
    print(sum(await asyncio.gather(*(one(address) for _ in range(REQUESTS)))))


if __name__ == "__main__":
    server = socket.create_server(("127.0.0.1", 0), backlog=REQUESTS)
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    healthy = sys.argv[1:] == ["healthy"]
    asyncio.run(ask(quote if healthy else quote_blocking, server.getsockname()))
