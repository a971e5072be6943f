// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { locate, translate } from "./image-command.ts";

function image(): TempFolder {
  const folder = tempFolder({ "root/usr/bin/python3.11": "", "root/function/main.py": "", secret: "" });
  const link = (target: string, name: string): void => symlinkSync(target, join(folder.path, "root", name));
  link("usr/bin", "bin");
  link("python3.11", "usr/bin/python3");
  link("/usr/bin/python3", "python");
  link("../../../secret", "climbs");
  link("round", "round");
  return folder;
}

const places: Record<string, { readonly path: string; readonly want: string | undefined }> = {
  "a file": { path: "/function/main.py", want: "function/main.py" },
  "a folder": { path: "/function/", want: "function" },
  "through a link to a folder and one to a file": { path: "/bin/python3", want: "usr/bin/python3.11" },
  "an absolute link starts at the image": { path: "/python", want: "usr/bin/python3.11" },
  "a link that climbs ends at the image": { path: "/climbs", want: undefined },
  "a path that climbs": { path: "/function/../../secret", want: undefined },
  "a circle of links": { path: "/round", want: undefined },
  "nothing there": { path: "/nope", want: undefined },
  "a file as a folder": { path: "/function/main.py/x", want: undefined },
};
for (const [what, { path, want }] of Object.entries(places)) {
  test(`where a path of an image is: ${what}`, async () => {
    using folder = image();
    const root = join(folder.path, "root");
    assert.equal(await locate(root, path), want && join(root, want));
  });
}

test("paths of the image are translated in words and lists; anything else stays", async () => {
  using folder = image();
  const root = join(folder.path, "root");
  const rows: Readonly<Record<string, string>> = {
    "/function/main.py": `${root}/function/main.py`,
    "--file=/function/main.py": `--file=${root}/function/main.py`,
    "/function:/nope:relative:/bin": `${root}/function:/nope:relative:${root}/usr/bin`,
    "/tls/server": "/run/certificates",
    "--certs=/tls/server/tls.crt": "--certs=/run/certificates/tls.crt",
    "/tls/servers": "/tls/servers",
    "--debug": "--debug",
    "a=b": "a=b",
    "": "",
    "https://example.org/function": "https://example.org/function",
  };
  for (const [word, want] of Object.entries(rows)) {
    assert.equal(await translate(word, root, { "/tls/server": "/run/certificates" }), want, word);
  }
});
