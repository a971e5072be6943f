// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server } from "node:http";
import { contentSecurityPolicy } from "./layout.ts";
import type { Site } from "./site.ts";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Serves a site on loopback. The site is asked for at every request, so a newer one can take its place. */
export async function serveSite(current: () => Site, port: number): Promise<{ server: Server; url: string }> {
  const server = createServer(({ url = "/", method = "GET" }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const path = pathname.slice(1);
    const address = path === "" || path.endsWith("/") ? `${path}index.html` : path;
    const text = current().get(safeDecode(address));
    const type = types[address.split(".").at(-1) ?? ""] ?? "text/plain; charset=utf-8";
    response.writeHead(text === undefined ? 404 : 200, {
      "content-type": text === undefined ? "text/plain; charset=utf-8" : type,
      "content-security-policy": contentSecurityPolicy,
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    });
    response.end(method === "HEAD" ? undefined : (text ?? `${pathname}: no such page\n`));
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return { server, url: `http://127.0.0.1:${bound}/` };
}

function safeDecode(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
