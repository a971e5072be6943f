module purlin.dev/interop/certificates

go 1.26.0
