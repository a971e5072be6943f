// SPDX-License-Identifier: Apache-2.0
// What a function in the sandbox finds out about the machine, and what it may: files, descriptors, rights, processes and interfaces.
import assert from "node:assert/strict";
import type { Loot } from "./sandboxed-function.ts";

/** The body of a hostile function that looks around. */
export const explorationBody = `
        const read = (path) => attempt(() => fs.readFileSync(path, "utf8"));
        const walk = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
          const path = (folder === "/" ? "" : folder) + "/" + one.name;
          if (["/proc", "/dev", "/function"].includes(path)) return [];
          return one.isDirectory() ? walk(path) : [path];
        });
        return {
          files: walk("/"),
          descriptors: ["/proc/1/fd", "/proc/self/fd"].flatMap((folder) =>
            fs.readdirSync(folder).map((fd) => attempt(() => fs.readlinkSync(folder + "/" + fd)))),
          status: read("/proc/self/status"),
          known: [process.env, process.argv, process.execPath, process.cwd(), read("/proc/1/cmdline"), read("/proc/1/environ"),
            read("/proc/self/cmdline"), os.hostname(), os.homedir(), os.userInfo()],
          // Places of this machine have such names.
          processFiles: ["/proc", "/proc/self", "/proc/1", "/proc/self/net", "/proc/sys/kernel"]
            .flatMap((folder) => fs.readdirSync(folder).map((name) => folder + "/" + name))
            .filter((path) => attempt(() => fs.statSync(path).isFile()) === true && !/(mem|kmsg|kcore|map|clear_refs|kallsyms|kpage.*)$/.test(path))
            .map((path) => ({ path, lines: String(read(path)).split("\\n").filter((line) => /purlin-(hostile|image)-/.test(line)) })),
          interfaces: Object.keys(os.networkInterfaces()),
          localhost: await new Promise((resolve) => {
            const server = net.createServer().listen(0, "localhost", () => { resolve("listens"); server.close(); });
            server.on("error", (error) => resolve(error.code));
          }),
        };`;

/** Fails when a function found what it must not. */
export function assertShutIn({ found, places }: Loot): void {
  const files = found["files"] as readonly string[];
  const known = /^\/(lib|lib64|usr|nix|purlin|tls|tmp|etc)\//;
  assert.deepEqual(
    files.filter((path) => !known.test(path)),
    [],
  );
  assert.ok(files.length < 60, `${files.length} files: ${files.join()}`);
  assert.deepEqual(files.filter((path) => path.startsWith("/etc/")).sort(), [
    "/etc/group",
    "/etc/hosts",
    "/etc/passwd",
  ]);
  for (const place of places) assert.ok(!JSON.stringify(found["known"]).includes(place), `it knows ${place}`);
  assert.ok(!JSON.stringify(found["known"]).includes("hunter2"), "the environment of the control plane");
  const processFiles = found["processFiles"] as readonly { readonly path: string; readonly lines: readonly string[] }[];
  assert.ok(processFiles.length > 60, `${processFiles.length} files of processes`);
  const mounts = processFiles.flatMap(({ path, lines }) => {
    if (lines.length > 0)
      assert.match(path, /\/mountinfo$/, "another file than the list of mounts shows places of this machine");
    return lines;
  });
  assert.ok(mounts.length > 0, "or places have other names");
  // The fourth field is the folder in its own file system: no mount option hides it.
  for (const line of mounts) {
    const fields = line.split(" ");
    assert.match(fields[4] ?? "", /^\/(function|tls\/server)$/);
    assert.doesNotMatch(fields.filter((_, at) => at !== 3).join(" "), /purlin-(hostile|image)-/);
  }
  const status = String(found["status"]);
  assert.match(status, /^Uid:\s2000\s2000\s2000\s2000$/m);
  assert.match(status, /^NoNewPrivs:\s1$/m);
  assert.match(status, /^Seccomp:\s2$/m);
  for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\s0+$`, "m"));
  const descriptors = found["descriptors"] as readonly string[];
  assert.ok(descriptors.length > 10, descriptors.join());
  for (const target of descriptors) {
    // Those of Node itself, the standard streams, and the folder that is being listed, which is closed when its entries are read.
    assert.match(
      target,
      /^(\/dev\/null|socket:\[\d+\]|pipe:\[\d+\]|anon_inode:(inotify|\[(eventfd|eventpoll)\])|ENOENT)$/,
    );
  }
  assert.deepEqual(found["interfaces"], ["lo"]);
  assert.equal(found["localhost"], "listens");
}
