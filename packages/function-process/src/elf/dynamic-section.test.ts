// SPDX-License-Identifier: Apache-2.0
// Programs and libraries of the ELF format, made byte by byte: what the loader reads of them.

import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type ElfFile, linkedFiles, parseElf, readElf } from "./linked-files.ts";

const amd64 = 62;
const tagOf = { null: 0, needed: 1, strtab: 5, strsz: 10, soname: 14, rpath: 15, runpath: 29 } as const;
const segmentTypes = { load: 1, dynamic: 2, interp: 3, note: 4 } as const;

/** An entry of the dynamic section; the value of a text is its place in the string table. */
type Entry = readonly [tag: keyof typeof tagOf, value: string | number];

interface Program {
  readonly machine?: number;
  readonly interpreter?: string;
  readonly dynamic?: readonly Entry[];
  /** The difference between addresses and places in the file. */
  readonly base?: number;
  /** The size of a program header. */
  readonly headerSize?: number;
  /** Without the entries that say where the strings are. */
  readonly withoutStrings?: boolean;
}

const place = { headers: 64, interpreter: 0x400, dynamic: 0x500, strings: 0x800, end: 0x1000 } as const;

/** Writes an executable as a linker does: header, program headers, interpreter, dynamic section, strings. */
function program({ machine = amd64, interpreter, dynamic, base = 0, headerSize = 56, withoutStrings }: Program) {
  const file = Buffer.alloc(place.end);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(machine, 18);
  file.writeBigUInt64LE(BigInt(place.headers), 32);
  file.writeUInt16LE(headerSize, 54);
  const { entries, strings } = dynamicSection(dynamic ?? [], base, withoutStrings ?? false);
  file.write(strings, place.strings, "latin1");
  file.set(entries, place.dynamic);
  if (interpreter !== undefined) file.write(`${interpreter}\0`, place.interpreter, "latin1");
  const segments: (readonly [type: number, offset: number, size: number])[] = [
    [segmentTypes.note, 0, 0],
    [segmentTypes.load, 0, place.end],
  ];
  if (interpreter !== undefined) segments.push([segmentTypes.interp, place.interpreter, interpreter.length + 1]);
  if (dynamic !== undefined) segments.push([segmentTypes.dynamic, place.dynamic, entries.length]);
  file.writeUInt16LE(segments.length, 56);
  for (const [index, [type, offset, size]] of segments.entries()) {
    const at = place.headers + index * headerSize;
    file.writeUInt32LE(type, at);
    file.writeBigUInt64LE(BigInt(offset), at + 8);
    file.writeBigUInt64LE(BigInt(base + offset), at + 16);
    file.writeBigUInt64LE(BigInt(size), at + 32);
  }
  return file;
}

function dynamicSection(given: readonly Entry[], base: number, withoutStrings: boolean) {
  let strings = "\0";
  const numbers = given.map(([tag, value]): readonly [number, number] => {
    if (typeof value === "number") return [tagOf[tag], value];
    const at = strings.length;
    strings += `${value}\0`;
    return [tagOf[tag], at];
  });
  const table = [[tagOf.strtab, base + place.strings] as const, [tagOf.strsz, strings.length] as const];
  const all = withoutStrings ? numbers : [...table, ...numbers];
  const entries = Buffer.alloc(all.length * 16);
  for (const [index, [tag, value]] of all.entries()) {
    entries.writeBigUInt64LE(BigInt(tag), index * 16);
    entries.writeBigUInt64LE(BigInt(value), index * 16 + 8);
  }
  return { entries, strings };
}

const parse = (file: Buffer): ElfFile | undefined =>
  parseElf((offset, length) => file.subarray(offset, offset + length));

describe("the dynamic section", () => {
  test("names the libraries in their order, and the processor is that of the header", () => {
    const file = program({
      machine: 183,
      interpreter: "/lib/ld-linux-aarch64.so.1",
      dynamic: [
        ["needed", "libz.so.1"],
        ["soname", "libmine.so"],
        ["needed", "libc.so.6"],
      ],
    });
    assert.deepEqual(parse(file), {
      machine: 183,
      interpreter: "/lib/ld-linux-aarch64.so.1",
      needed: ["libz.so.1", "libc.so.6"],
      paths: [],
    });
  });

  test("is found through addresses, which differ from places in the file", () => {
    const dynamic = [["needed", "libc.so.6"]] as const;
    assert.deepEqual(parse(program({ dynamic, base: 0x400000 }))?.needed, ["libc.so.6"]);
  });

  test("ends with the null entry: what follows is unused room", () => {
    const dynamic: readonly Entry[] = [
      ["needed", "libc.so.6"],
      ["null", 0],
      ["needed", "libstale.so"],
      ["runpath", "/stale"],
    ];
    const { needed, paths } = parse(program({ dynamic })) ?? {};
    assert.deepEqual([needed, paths], [["libc.so.6"], []]);
  });

  test("DT_RUNPATH counts alone where DT_RPATH is there too", () => {
    const paths = (...dynamic: readonly Entry[]): readonly string[] => parse(program({ dynamic }))?.paths ?? [];
    assert.deepEqual(paths(["rpath", "/old"]), ["/old"]);
    assert.deepEqual(paths(["rpath", "/old"], ["runpath", "/new"]), ["/new"]);
    assert.deepEqual(paths(["runpath", "/new"], ["rpath", "/old"]), ["/new"]);
  });

  test("a path is a list; empty parts are left out and $ORIGIN stays", () => {
    const { paths } = parse(program({ dynamic: [["runpath", "$ORIGIN/../lib::/opt/lib:"]] })) ?? {};
    assert.deepEqual(paths, ["$ORIGIN/../lib", "/opt/lib"]);
  });

  test("without strings names nothing", () => {
    const file = program({ dynamic: [["needed", "libc.so.6"]], withoutStrings: true });
    assert.deepEqual(parse(file)?.needed, [""]);
    assert.deepEqual(parse(program({ dynamic: [["needed", "libc.so.6"]], withoutStrings: true, base: 0x1000 })), {
      machine: amd64,
      interpreter: undefined,
      needed: [],
      paths: [],
    });
  });

  test("strings outside every segment, or beyond their table, are not read", () => {
    const far = program({ dynamic: [["needed", 1]] });
    far.writeBigUInt64LE(BigInt(place.end), place.dynamic + 8);
    assert.deepEqual(parse(far)?.needed, [], "the first address behind the segment");
    far.writeBigUInt64LE(BigInt(place.end - 1), place.dynamic + 8);
    assert.deepEqual(parse(far)?.needed, [""], "the last address of the segment");
    assert.deepEqual(parse(program({ dynamic: [["needed", 5_000]] }))?.needed, [""]);
  });
});

describe("the program headers", () => {
  test("may be larger than this version of the format has them", () => {
    const file = program({ headerSize: 64, interpreter: "/lib/ld.so", dynamic: [["needed", "liba.so"]] });
    assert.deepEqual([parse(file)?.interpreter, parse(file)?.needed], ["/lib/ld.so", ["liba.so"]]);
  });

  test("that are smaller, or are cut by the end of the file, are ignored", () => {
    const small = program({ interpreter: "/lib/ld.so" });
    small.writeUInt16LE(55, 54);
    assert.equal(parse(small)?.interpreter, undefined);
    const cut = program({ interpreter: "/lib/ld.so" });
    // The third header, which names the interpreter, is not complete.
    assert.equal(parse(cut.subarray(0, place.headers + 3 * 56 - 1))?.interpreter, undefined);
  });

  test("of a static program name no loader and no libraries", () => {
    assert.deepEqual(parse(program({})), { machine: amd64, interpreter: undefined, needed: [], paths: [] });
  });

  test("an empty name is not a loader", () => {
    assert.equal(parse(program({ interpreter: "" }))?.interpreter, undefined);
  });

  test("a name of a loader without its end is read up to the end of its segment", () => {
    const file = program({ interpreter: "/lib/ld.so" });
    file.writeBigUInt64LE(7n, place.headers + 2 * 56 + 32);
    assert.equal(parse(file)?.interpreter, "/lib/ld");
  });
});

describe("other files", () => {
  const changed = (at: number, value: number): Buffer => {
    const file = program({ interpreter: "/lib/ld.so" });
    file[at] = value;
    return file;
  };

  test("of 32 bits, with the other order of bytes or another magic number are not read", () => {
    for (const [at, value] of [
      [0, 0],
      [3, 0x47],
      [4, 1],
      [5, 2],
    ] as const) {
      assert.equal(parse(changed(at, value)), undefined, `byte ${at}`);
    }
    assert.notEqual(parse(changed(6, 0)), undefined, "the version is not looked at");
  });

  test("are read from 64 bytes on", () => {
    const file = program({});
    assert.equal(parse(file.subarray(0, 63)), undefined);
    assert.deepEqual(parse(file.subarray(0, 64)), { machine: amd64, interpreter: undefined, needed: [], paths: [] });
  });
});

describe("files of this machine", () => {
  test("are read and closed, and offsets beyond 2^53 are empty", () => {
    using folder = tempFolder();
    const path = join(folder.path, "program");
    writeFileSync(path, program({ interpreter: "/lib/ld.so", dynamic: [["needed", "liba.so"]] }));
    const open = (): number => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let n = 0; n < 5; n++) assert.deepEqual(readElf(path)?.needed, ["liba.so"]);
    assert.equal(open(), before, "no file stays open");
    const far = program({ interpreter: "/lib/ld.so" });
    far.writeBigUInt64LE(2n ** 63n, 32);
    writeFileSync(path, far);
    assert.equal(readElf(path)?.interpreter, undefined);
    assert.throws(() => readElf(join(folder.path, "none")), { code: "ENOENT" });
  });

  test("libraries are found beside the program by $ORIGIN, also those that libraries need", () => {
    using folder = tempFolder({ "app/lib/.keep": "", "app/bin/.keep": "" });
    const at = (name: string): string => join(folder.path, "app", name);
    const library = (name: string, dynamic: readonly Entry[]): void => writeFileSync(at(name), program({ dynamic }));
    const runpath = ["runpath", "$ORIGIN/../lib"] as const;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: both spellings are those of the loader.
    const braced = ["runpath", "${ORIGIN}"] as const;
    library("lib/liba.so", [["needed", "libb.so"], braced]);
    library("lib/libb.so", [["needed", "liba.so"], braced]);
    const dynamic: readonly Entry[] = [["needed", "liba.so"], runpath];
    writeFileSync(at("bin/main"), program({ interpreter: at("bin/ld.so"), dynamic }));
    const files = linkedFiles(at("bin/main"));
    const own = Object.entries(files).filter(([, path]) => path.startsWith(folder.path));
    assert.deepEqual(Object.fromEntries(own), {
      [at("bin/liba.so")]: at("lib/liba.so"),
      [at("bin/libb.so")]: at("lib/libb.so"),
      [at("bin/ld.so")]: at("bin/ld.so"),
    });
  });

  test("a library for another processor does not count, and one that is missing is named with its program", () => {
    using folder = tempFolder();
    const at = (name: string): string => join(folder.path, name);
    const dynamic: readonly Entry[] = [
      ["needed", "libpurlin-other.so"],
      ["runpath", folder.path],
    ];
    writeFileSync(at("libpurlin-other.so"), program({ machine: 183 }));
    writeFileSync(at("main"), program({ interpreter: "/lib/ld.so", dynamic }));
    assert.throws(() => linkedFiles(at("main")), {
      message: `${at("main")} needs the library libpurlin-other.so, which is not found`,
    });
    writeFileSync(at("libpurlin-other.so"), program({}));
    assert.ok(Object.values(linkedFiles(at("main"))).includes(at("libpurlin-other.so")));
  });

  test("a library with an absolute name is where it says", () => {
    using folder = tempFolder();
    const at = (name: string): string => join(folder.path, name);
    writeFileSync(at("liba.so"), program({}));
    writeFileSync(at("main"), program({ interpreter: "/lib/ld.so", dynamic: [["needed", at("liba.so")]] }));
    assert.equal(linkedFiles(at("main"))[at("liba.so")], at("liba.so"));
  });
});
