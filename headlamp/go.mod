// This is no Go module. The file keeps the Go code that npm packages bring along out
// of ./... of the project.
module headlamp

go 1.26.0
