// SPDX-License-Identifier: Apache-2.0

// Writes package files with go-containerregistry, the library that Crossplane's own command writes them with: layers appended to
// an image and marked by labels of its configuration, in a file as `docker save` writes it; and pushes them with the labels turned
// into annotations of the layers.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"io"
	"log"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const annotation = "io.crossplane.xpkg"

// A file of the package, the path it has in its layer, and the mark of that layer.
type part struct{ file, path, mark string }

func main() {
	packageYaml := flag.String("package", "", "the package.yaml")
	examples := flag.String("examples", "", "examples, in a layer of their own")
	runtime := flag.String("runtime", "", "a file for a layer below the package")
	order := flag.String("order", "runtime,package,examples", "the layers, lowest first")
	output := flag.String("o", "", "the package file to write")
	push := flag.String("push", "", "where to push it to")
	flag.Parse()
	parts := map[string]part{
		"package":  {*packageYaml, "package.yaml", "base"},
		"examples": {*examples, ".up/examples.yaml", "upbound"},
		"runtime":  {*runtime, "bin/provider", ""},
	}
	image := build(parts, strings.Split(*order, ","))
	if *output != "" {
		write(image, *output)
	}
	if *push != "" {
		must(remote.Write(must1(name.ParseReference(*push)), annotated(image)))
	}
}

func build(parts map[string]part, order []string) v1.Image {
	image := empty.Image
	config := must1(image.ConfigFile()).Config
	config.Labels = map[string]string{}
	for _, key := range order {
		part := parts[key]
		if part.file == "" {
			continue
		}
		layer := layerOf(must1(os.ReadFile(part.file)), part.path)
		if part.mark != "" {
			config.Labels[annotation+":"+must1(layer.Digest()).String()] = part.mark
		}
		image = must1(mutate.AppendLayers(image, layer))
	}
	return must1(mutate.Config(image, config))
}

func layerOf(content []byte, path string) v1.Layer {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	must(archive.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content))}))
	must1(archive.Write(content))
	must(archive.Close())
	return must1(tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}))
}

func write(image v1.Image, path string) {
	file := must1(os.Create(path))
	must(tarball.Write(nil, image, file))
	must(file.Close())
}

func annotated(image v1.Image) v1.Image {
	labels := must1(image.ConfigFile()).Config.Labels
	result := mutate.MediaType(empty.Image, must1(image.MediaType()))
	for _, layer := range must1(image.Layers()) {
		addendum := mutate.Addendum{Layer: layer}
		if mark, ok := labels[annotation+":"+must1(layer.Digest()).String()]; ok {
			addendum.Annotations = map[string]string{annotation: mark}
		}
		result = must1(mutate.Append(result, addendum))
	}
	return must1(mutate.Config(result, must1(image.ConfigFile()).Config))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}
