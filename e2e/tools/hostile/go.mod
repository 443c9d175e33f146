module tools/hostile

go 1.26.0
