// The page stands in index.html.
